// Display: a running fleet, and its result, as text for people.
#pragma once

#include <span>
#include <string>

#include "gossip/report/summary.h"

namespace starling::daemon {

// One line a node: round, loss, accuracy or error, consensus distance, bytes sent.
std::string node_table(std::span<const gossip::NodeSummary> nodes);
// The table and the result of the run.
std::string summary_text(const gossip::Summary& summary);

}  // namespace starling::daemon
