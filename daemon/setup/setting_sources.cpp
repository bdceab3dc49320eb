#include "daemon/setup/setting_sources.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string_view>

#include "daemon/setup/given_ticket.h"

namespace starling::daemon {
namespace {

std::optional<SettingSources::File> read_ini_file(const std::string& path,
                                                  std::vector<std::string>& mistakes) {
  std::ifstream stream(path);
  if (!stream) {
    mistakes.push_back(fmt::format("{}: cannot be opened; expected an INI file", path));
    return std::nullopt;
  }
  // A folder opens like a file and fails on reading.
  stream.peek();
  if (stream.bad()) {
    mistakes.push_back(fmt::format("{}: cannot be read; expected an INI file", path));
    return std::nullopt;
  }
  stream.clear();
  return SettingSources::File{path, {std::istreambuf_iterator<char>(stream), {}}};
}

}  // namespace

std::vector<SettingSources::Pair> environment_variables() {
  std::vector<SettingSources::Pair> variables;
  for (char** item = environ; *item; ++item) {
    const std::string_view variable = *item;
    const std::size_t equals = variable.find('=');
    if (equals != std::string_view::npos)
      variables.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
  }
  return variables;
}

Settings gather_settings(const Schema& schema, const std::optional<std::string>& path,
                         std::span<const SettingSources::Pair> keys,
                         std::vector<std::string>& mistakes) {
  SettingSources sources;
  if (path) sources.file = read_ini_file(*path, mistakes);
  sources.variables = environment_variables();
  sources.keys.assign(keys.begin(), keys.end());
  Settings settings = starling::gather_settings(schema, sources, mistakes);
  hide_tickets(settings, mistakes);
  return settings;
}

Result<Settings> load_settings(const Schema& schema, const std::optional<std::string>& path,
                               std::span<const SettingSources::Pair> keys) {
  std::vector<std::string> mistakes;
  Settings settings = gather_settings(schema, path, keys, mistakes);
  if (!mistakes.empty()) return fail("{}", fmt::join(mistakes, "\n"));
  return settings;
}

}  // namespace starling::daemon
