// Commands that ask or tell a running node: status, members, neighbors, topology, convergence, join
// and leave.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace starling::daemon {

// Prints and gives the exit code: 0 done, 1 refused by the node, 2 wrong usage, 4 no node answers.
// REQUIRES one of the commands above.
int command_query(std::string_view command, std::span<const std::string> arguments);

}  // namespace starling::daemon
