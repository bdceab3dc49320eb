// next_commands: what to type in a second terminal while a fleet of `starling up` runs.
#pragma once

#include <string>

#include "daemon/cli/up/fleet.h"

namespace starling::daemon {

// Asks a node that runs. REQUIRES one node.
std::string how_to_ask(Fleet& fleet);
// Adds a node that learns the same; empty where each node has data of its own. REQUIRES one node.
std::string how_to_join(Fleet& fleet, const FleetOptions& options);

}  // namespace starling::daemon
