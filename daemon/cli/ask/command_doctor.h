// starling doctor: looks for what is wrong with a node, or with the way to a peer.
#pragma once

#include <span>
#include <string>

namespace starling::daemon {

// Prints a finding a line and gives the exit code: 0 nothing failed, 1 something did, 2 wrong
// usage, 4 the node cannot be asked. Waits 2 s for each look, and for all of the others' ports
// together.
int command_doctor(std::span<const std::string> arguments);

}  // namespace starling::daemon
