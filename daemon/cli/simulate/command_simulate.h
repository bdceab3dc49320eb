// starling simulate and rehearse: their options. main_simulate.cpp and main_rehearse.cpp run them,
// where the layers meet.
#pragma once

#include "base/command_line.h"

namespace starling::daemon {

// Their `run` is empty.
extern const ProgramCommand kSimulate, kRehearse;

}  // namespace starling::daemon
