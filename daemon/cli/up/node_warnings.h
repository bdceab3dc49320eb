// What `starling up` says of a node while it runs.
#pragma once

#include <string>
#include <vector>

#include "daemon/cli/up/fleet.h"

namespace starling::daemon {

// What the node warns of, with the last words of a trainer that failed; of a node that has no
// status `time_s` after the start, or has ended, what its log says.
std::vector<std::string> warnings_of(Fleet::Node& node, double time_s);

}  // namespace starling::daemon
