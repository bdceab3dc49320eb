// The part of starling rehearse that plays a fleet by several settings.
#pragma once

#include "base/command_line.h"

namespace starling::daemon {

// Gives the exit code.
Outcome<int> rehearse(const CommandLine& line);

}  // namespace starling::daemon
