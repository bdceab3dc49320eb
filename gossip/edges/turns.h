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

// Those of one round, and the sequence that they are of. Nothing: the round uses all edges.
struct SequencedRound {
  const topology::SequenceRow* sequence;
  std::map<NodeId, topology::Turn> by_peer;
};
using RoundTurns = std::optional<SequencedRound>;

// Sets what the turns say of the edge.
inline void take_turn(EdgeView& edge, const RoundTurns& turns) {
  if (!turns) return;
  edge.sequence = turns->sequence;
  const auto turn = turns->by_peer.find(edge.peer);
  edge.in_round = turn != turns->by_peer.end();
  if (!edge.in_round) return;
  edge.weight = turn->second.weight;
  edge.in = edge.in && turn->second.in;
  edge.out = edge.out && turn->second.out;
}

struct Turns {
  std::shared_ptr<const topology::Sequence> sequence;
  std::vector<NodeId> nodes;  // the node of each vertex
  int self = 0;               // the vertex of this node

  // Whether this node takes no step in that round, counted from 1. Where all nodes have a turn in
  // every round, one without a partner steps alone.
  bool rest_in(std::uint64_t round) const {
    return sequence->rounds_a_turn() > 1 && sequence->turns(self, round - 1).empty();
  }
  // In that round, counted from 1.
  RoundTurns in(std::uint64_t round) const {
    RoundTurns turns = SequencedRound{&sequence->row(), {}};
    for (const topology::Turn& turn : sequence->turns(self, round - 1))
      turns->by_peer.emplace(nodes[static_cast<std::size_t>(turn.vertex)], turn);
    return turns;
  }
};

// Turns::in(), Turns::rest_in() and Sequence::rounds_a_turn(). Null: every round uses all edges,
// and every node steps in it.
inline RoundTurns turns_in(const Turns* turns, std::uint64_t round) {
  return turns ? turns->in(round) : std::nullopt;
}
inline bool rests_in(const Turns* turns, std::uint64_t round) {
  return turns && turns->rest_in(round);
}
inline std::uint64_t rounds_a_turn(const Turns* turns) {
  return turns ? turns->sequence->rounds_a_turn() : 1;
}

}  // namespace starling::gossip
