// ini: the text of an INI file as keys and their values.
#pragma once

#include <string>
#include <vector>

namespace starling {

struct IniEntry {
  std::string name;  // section.key
  std::vector<std::string> values;
};

// The keys in the order in which they first stand in the text. What is no INI is said in
// `mistakes`, with the name of the file and the line; then nothing is returned.
std::vector<IniEntry> parse_ini(const std::string& name, const std::string& text,
                                std::vector<std::string>& mistakes);

}  // namespace starling
