// starling run: one node in the foreground.
#pragma once

#include <span>
#include <string>

namespace starling::daemon {

int command_run(std::span<const std::string> arguments);

}  // namespace starling::daemon
