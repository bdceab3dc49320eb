// starling simulate: the same nodes in virtual time, with faults.
#pragma once

#include <span>
#include <string>

namespace starling::daemon {

int command_simulate(std::span<const std::string> arguments);

}  // namespace starling::daemon
