// The graph where nobody can dial some of the nodes, as behind a NAT. Two such nodes have no edge:
// each edge of two hidden nodes gives way to an edge of each end with one node that can be dialled,
// so that what was connected remains connected. A hidden node with fewer than two neighbours that
// can be dialled gets more, up to two.
//
// The node that takes such edges is the next after the hash of their ends in the ring of hashes of
// the nodes that can be dialled, but for those that have taken five fourths of their share already.
// Without any node that can be dialled the edges of two hidden nodes are dropped.
#pragma once

#include <cstdint>
#include <span>

#include "base/ids.h"
#include "topology/graph.h"

namespace starling::topology {

struct Vertex {
  NodeId id;
  bool is_hidden = false;
};

// Undirected; a directed graph gets the reverse of every edge, so that Metropolis weights stay
// doubly stochastic. Returns the graph itself if no vertex is hidden. REQUIRES different ids, one a
// vertex.
Graph around_hidden(const Graph& graph, std::span<const Vertex> vertices, std::uint64_t seed);

}  // namespace starling::topology
