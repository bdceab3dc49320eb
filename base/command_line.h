// CommandLine: what follows a command: its options, the keys of settings, and the rest.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace starling {

// What a command takes besides keys: "config,c" has the short form -c.
struct CommandOption {
  std::string name;
  std::string help;
  bool takes_value = true;
};

struct CommandLine {
  std::map<std::string, std::vector<std::string>, std::less<>> options;
  std::vector<std::string> positional;
  std::vector<std::pair<std::string, std::string>> keys;  // --section.key=value, in order

  bool has(std::string_view name) const { return options.find(name) != options.end(); }
  std::optional<std::string> value(std::string_view name) const;
};

// Splits a command's arguments; complains about options the command does not take.
Result<CommandLine> parse_command_line(std::span<const std::string> arguments,
                                       std::span<const CommandOption> options);

}  // namespace starling
