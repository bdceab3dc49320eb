// All commands of the program. To add a command: a file with its ProgramCommand in a room of
// daemon/cli/, its name in the room's header, a row in daemon/cli/commands.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "daemon/cli/help/help.h"

namespace starling::daemon {

// In the order of the overview.
Commands commands();
// Null if there is none of that name.
const ProgramCommand* find_command(std::string_view name);

// Parses the arguments and runs the command, or prints its help. Returns the exit code.
int carry_out(const ProgramCommand& command, std::span<const std::string> arguments);

// Those of the program itself.
extern const ProgramCommand kRun, kCompletion, kManual, kVersionCommand;

}  // namespace starling::daemon
