// Turns: with which neighbours this node exchanges in each round, where the graph changes from
// round to round (topology/sequence.h). Two nodes that know the same members agree on them;
// otherwise one may wait for the other in vain.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "gossip/edges/edge_rules.h"
#include "topology/sequence.h"

namespace starling::gossip {

// Those of one round, by peer. Nothing: the round uses all edges.
using RoundTurns = std::optional<std::map<NodeId, topology::Turn>>;

// Sets what the turns say of the edge.
inline void take_turn(EdgeView& edge, const RoundTurns& turns) {
  if (!turns) return;
  const auto turn = turns->find(edge.peer);
  edge.in_round = turn != turns->end();
  if (!edge.in_round) return;
  edge.weight = turn->second.weight;
  edge.in = edge.in && turn->second.in;
  edge.out = edge.out && turn->second.out;
}

struct Turns {
  std::shared_ptr<const topology::Sequence> sequence;
  std::vector<NodeId> nodes;  // the node of each vertex
  int self = 0;               // the vertex of this node

  // In that round, counted from 1.
  RoundTurns in(std::uint64_t round) const {
    RoundTurns turns(std::in_place);
    for (const topology::Turn& turn : sequence->turns(self, round - 1))
      turns->emplace(nodes[static_cast<std::size_t>(turn.vertex)], turn);
    return turns;
  }
};

}  // namespace starling::gossip
