// Credence: which round numbers from others a node believes. One false number must not make all
// nodes jump ahead.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "gossip/edges/neighbors.h"
#include "gossip/edges/patience.h"
#include "gossip/edges/round_counter.h"
#include "gossip/members/roster.h"

namespace starling::gossip {

// The evidence for and against a number.
struct Credence {
  const RoundCounter& rounds;
  const Recent& times;  // of this node's rounds
  Neighbors& neighbors;
  const Roster& members;
  std::size_t liars;  // so many may tell the same false round

  // Whether to take a message of `peer` that claims `round`. Counts a refusal.
  bool believes(Time now, NodeId peer, std::uint64_t round) const;
};

}  // namespace starling::gossip
