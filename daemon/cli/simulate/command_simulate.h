// starling simulate: what it takes. main_simulate.cpp carries it out, where the layers meet.
#pragma once

#include "base/command_line.h"

namespace starling::daemon {

// Its `run` is empty.
extern const ProgramCommand kSimulate;

}  // namespace starling::daemon
