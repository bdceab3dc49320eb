// starling up: n local nodes as processes, watched until their goal is reached.
#pragma once

#include <span>
#include <string>

namespace starling::daemon {

int command_up(std::span<const std::string> arguments);

}  // namespace starling::daemon
