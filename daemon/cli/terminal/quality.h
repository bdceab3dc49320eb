// quality: how good the model of a fleet is on held-out rows, beside models of single sites.
#pragma once

#include <span>
#include <string>

#include "gossip/report/summary.h"

namespace starling::daemon {

// "area under the curve 0.735", or the accuracy, or the root mean square error; empty: none of
// them.
std::string quality(const optim::Evaluation& evaluation);

// A line for each node that knows how good a model of its own rows alone is: "site-3 alone: area
// under the curve 0.734; with all 0.808 (of 640 held-out rows)". Then, where a class is rare, the
// area and its recall over all nodes. Empty where nothing of that is known.
std::string quality_lines(std::span<const gossip::NodeSummary> nodes);

// Writes these lines for one node into the log.
void log_quality(const std::string& name, const gossip::RunStatus& run);

}  // namespace starling::daemon
