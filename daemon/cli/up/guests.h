// guests: the members of the fleet of `starling up` that it has not started.
#pragma once

#include <vector>

#include "daemon/cli/up/fleet.h"
#include "gossip/report/summary.h"

namespace starling::daemon {

// Those that are there, and those that have left, by the status of each or, where it gives none, by
// its record at the first node of the fleet that answers. "NAME (guest)"; "NAME (guest, left)".
std::vector<gossip::NodeSummary> guests(Fleet& fleet);

}  // namespace starling::daemon
