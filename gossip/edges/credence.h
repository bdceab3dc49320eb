// Credence: which round numbers of others this node believes. One false number must not make all
// nodes jump ahead.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "gossip/edges/neighbors.h"
#include "gossip/edges/patience.h"
#include "gossip/edges/round_counter.h"
#include "gossip/members/roster.h"

namespace starling::gossip {

// What a number is compared with.
struct Credence {
  const RoundCounter& rounds;
  const Recent& times;  // of this node's rounds
  Neighbors& neighbors;
  const Roster& members;

  // Whether to take a message of `peer` that says to be of `round`. Counts one that is refused.
  bool believes(Time now, NodeId peer, std::uint64_t round) const;
};

}  // namespace starling::gossip
