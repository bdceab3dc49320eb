// ini: the text of an INI file as keys and their values.
#pragma once

#include <string>
#include <vector>

namespace starling {

struct IniEntry {
  std::string name;  // section.key
  std::vector<std::string> values;
};

// The keys in the order of their first appearance. If the text is not INI, says why in `mistakes`,
// with file and line, and returns nothing.
std::vector<IniEntry> parse_ini(const std::string& name, const std::string& text,
                                std::vector<std::string>& mistakes);

}  // namespace starling
