// starling simulate: its options. main_simulate.cpp runs it, where the layers meet.
#pragma once

#include "base/command_line.h"

namespace starling::daemon {

// Its `run` is empty.
extern const ProgramCommand kSimulate;

}  // namespace starling::daemon
