// `starling export`: the series and events of nodes, for other programs.
#pragma once

#include <span>
#include <string>

namespace starling::daemon {

// Returns the exit code (exit_code.h): 4 where a node did not answer, 1 where one refused or the
// output could not be written. With --all what the others gave is written all the same.
int command_export(std::span<const std::string> arguments);

}  // namespace starling::daemon
