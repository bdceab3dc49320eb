// Planning: `starling plan` as a test calls it, and what its answer holds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "daemon/cli/commands.h"
#include "daemon/cli/offline/commands.h"

namespace starling::daemon {

using Words = std::vector<std::string>;

inline bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// What the command prints.
inline Result<std::string> plan(const Words& arguments) {
  TRY(const CommandLine line, parse_command_line(arguments, kPlan));
  return plan_text(line);
}

inline std::string plan_error(const Words& arguments) {
  const auto text = plan(arguments);
  return text ? "no error" : text.error().text;
}

}  // namespace starling::daemon
