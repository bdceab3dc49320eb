// starling data: what the program makes of a table, before anything trains.
#pragma once

#include <span>
#include <string>

namespace starling::daemon {

int command_data(std::span<const std::string> arguments);

}  // namespace starling::daemon
