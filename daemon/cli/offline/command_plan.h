// starling plan: what a topology costs and how fast it agrees, before anything is deployed.
#pragma once

#include <span>
#include <string>

#include "base/result.h"

namespace starling::daemon {

// Prints and gives the exit code: 0, or 2 for wrong usage.
int command_plan(std::span<const std::string> arguments);

// What it prints on standard output.
Result<std::string> plan_text(std::span<const std::string> arguments);

}  // namespace starling::daemon
