// starling sweep: runs of every combination of some values, compared.
#pragma once

#include <functional>

#include "base/command_line.h"

namespace starling::daemon {

// Its `run` is empty; cli/main.cpp runs it by sweep().
extern const ProgramCommand kSweep;

// That a run by these arguments can begin, without its data.
using RunCheck = std::function<Result<void>(const CommandLine& line)>;
// Of nodes as processes.
Result<void> check_local_run(const CommandLine& line);

// Gives the exit code. `check` is that of the kind of runs that the command line asks for.
Outcome<int> sweep(const CommandLine& line, const RunCheck& check);

}  // namespace starling::daemon
