// key_options: options of `run` and `up` that stand for keys.
#pragma once

#include "base/command_line.h"

namespace starling::daemon {

// --join, --from and --trainer as keys.
void name_keys(CommandLine& line);

}  // namespace starling::daemon
