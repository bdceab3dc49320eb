// starling simulate: the same nodes in virtual time, with faults.
#pragma once

#include "base/command_line.h"

namespace starling::daemon {

// Gives the exit code.
Outcome<int> simulate(const CommandLine& line);

}  // namespace starling::daemon
