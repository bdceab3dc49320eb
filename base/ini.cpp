#include "base/ini.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <sstream>
#include <string_view>

#include "base/text.h"

namespace starling {
namespace {

namespace po = boost::program_options;

// The number, from 1, of the line with that text; ignores blanks around it and comments.
std::size_t line_of(const std::string& file, std::string_view text) {
  std::istringstream stream(file);
  std::string line;
  for (std::size_t number = 1; std::getline(stream, line); ++number) {
    line.resize(std::min(line.size(), line.find('#')));
    if (trim(line) == text) return number;
  }
  return 0;
}

// Finds comments of other dialects, which would become part of a value, and values that a comment
// would cut.
void find_strange_comments(const std::string& name, const std::string& text,
                           std::vector<std::string>& mistakes) {
  std::istringstream stream(text);
  std::string line;
  for (std::size_t number = 1; std::getline(stream, line); ++number) {
    const std::size_t hash = line.find('#');
    const std::string_view content = trim(std::string_view(line).substr(0, hash));
    if (content.empty()) continue;
    if (content.starts_with(';') || content.find(" ;") != std::string_view::npos)
      mistakes.push_back(fmt::format("{}: line {}: \"{}\": a comment begins with #, not with ;",
                                     name, number, content));
    else if (hash != std::string::npos && line[hash - 1] != ' ' && line[hash - 1] != '\t')
      mistakes.push_back(fmt::format(
          "{}: line {}: \"{}\": what follows # is a comment; write a blank before it, and give a "
          "value that holds # by the environment or the command line",
          name, number, trim(line)));
  }
}

}  // namespace

std::vector<IniEntry> parse_ini(const std::string& name, const std::string& text,
                                std::vector<std::string>& mistakes) {
  const std::size_t known = mistakes.size();
  find_strange_comments(name, text, mistakes);
  if (mistakes.size() > known) return {};
  std::vector<IniEntry> entries;
  try {
    std::istringstream stream(text);
    const po::options_description none;
    for (const po::option& option : po::parse_config_file(stream, none, true).options) {
      auto entry = std::ranges::find(entries, option.string_key, &IniEntry::name);
      if (entry == entries.end()) entry = entries.insert(entry, {option.string_key, {}});
      entry->values.insert(entry->values.end(), option.value.begin(), option.value.end());
    }
  } catch (const po::invalid_config_file_syntax& error) {
    mistakes.push_back(fmt::format("{}: line {}: \"{}\" is neither KEY = VALUE nor [SECTION]", name,
                                   line_of(text, error.tokens()), error.tokens()));
    return {};
  } catch (const po::error& error) {
    mistakes.push_back(fmt::format("{}: {}", name, error.what()));
    return {};
  }
  return entries;
}

}  // namespace starling
