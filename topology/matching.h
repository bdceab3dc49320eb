// matching: pairs of neighbours, drawn anew for every round. Nodes that know the same graph draw
// the same pairs without a message.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "topology/graph.h"

namespace starling::topology {

// The t-th random matching of an undirected graph: the partner of each vertex, -1 for none. The
// vertices are put in an order p by Fisher and Yates: from 0 .. n-1, for k = n-1 down to 1, p_k
// changes places with p_j,
//   j = mix64((seed << 32) + t s + k) mod (k + 1) ,   s = 64 ceil(n / 64) .
// Then each vertex in that order that is still free takes its first neighbour in the order that is
// free too. So no edge joins two vertices without a partner, and on the complete graph the pairs
// are (p_0, p_1), (p_2, p_3), ... Only the first `most` pairs are made. O(n + edges of these).
std::vector<int> matching(const Graph& graph, std::uint64_t seed, std::uint64_t t,
                          int most = std::numeric_limits<int>::max());

}  // namespace starling::topology
