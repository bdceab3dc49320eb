// Verdict: whether the fleet of `starling up` has reached its goal, and why it is over.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/cli/up/fleet.h"
#include "gossip/report/summary.h"

namespace starling::daemon {

struct Verdict {
  bool has_goal = false;
  bool reached = false;
  bool is_refused = false;  // the nodes cannot train on their data
  std::string text = {};    // empty: the fleet goes on
  gossip::EndModel model = {};
};

// By the last status of all nodes.
Verdict judge(Fleet& fleet, const gossip::Goal& goal);
// REQUIRES that no node runs.
std::string why_none_runs(Fleet& fleet);

}  // namespace starling::daemon
