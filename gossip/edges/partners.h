// Partners: this node's partner in each round of the schedule `matching`. Two nodes that know the
// same members agree on it; otherwise one may wait for the other in vain.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "topology/graph.h"
#include "topology/matching.h"

namespace starling::gossip {

struct Partners {
  topology::Graph graph;      // undirected, of all members
  std::uint64_t seed = 0;     // of the matchings
  std::vector<NodeId> nodes;  // the node of each vertex
  std::size_t self = 0;       // the vertex of this node

  // Nothing if the matching of the round, counted from 1, gives this node no partner.
  std::optional<NodeId> in(std::uint64_t round) const {
    const int partner = topology::matching(graph, seed, round - 1)[self];
    if (partner < 0) return {};
    return nodes[static_cast<std::size_t>(partner)];
  }
};

}  // namespace starling::gossip
