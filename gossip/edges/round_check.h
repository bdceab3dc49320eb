// RoundCheck: decides which round numbers in received messages a node believes. One false number
// must not make all nodes jump ahead.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "gossip/edges/neighbors.h"
#include "gossip/edges/patience.h"
#include "gossip/edges/round_counter.h"
#include "gossip/members/roster.h"

namespace starling::gossip {

// The state of this node that a decision depends on.
struct RoundCheck {
  const RoundCounter& rounds;
  const Recent& times;  // durations of this node's rounds
  Neighbors& neighbors;
  const Roster& members;
  std::size_t liars;  // so many members may claim the same false round

  // Whether to accept a message of `peer` that claims `round`. A refusal is counted in the status.
  bool accepts(Time now, NodeId peer, std::uint64_t round) const;
};

}  // namespace starling::gossip
