// starling up: a cluster on this machine.
#pragma once

#include "base/command_line.h"

namespace starling::daemon {

extern const ProgramCommand kUp;

}  // namespace starling::daemon
