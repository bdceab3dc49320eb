// Random graphs, equal on all nodes that know the same members and the seed. All but random_regular
// are drawn by hashing node ids, so that a join or leave changes few edges. REQUIRES different ids.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "topology/graph.h"

namespace starling::topology {

// The union of degree/2 rings, each in the order of the hashes of the ids (Law, Siu: Distributed
// construction of random expander networks, 2003): connected, and a join changes at most 3 edges a
// ring. If rings share an edge, a degree is smaller. REQUIRES an even degree.
Graph hashed_rings(std::span<const NodeId> ids, int degree, std::uint64_t seed);

// The neighbours of one vertex in that graph.
std::vector<int> near_in_hashed_rings(std::span<const NodeId> ids, int vertex, int degree,
                                      std::uint64_t seed);

// Each pair with the given probability, by the hash of both ids, and one hashed ring. The ring
// makes the graph connected; redrawing until it is would change all edges at a join.
Graph erdos_renyi(std::span<const NodeId> ids, double probability, std::uint64_t seed);
// The neighbours of one vertex in that graph.
std::vector<int> near_in_erdos_renyi(std::span<const NodeId> ids, int vertex, double probability,
                                     std::uint64_t seed);

// Watts and Strogatz (Collective dynamics of small-world networks, 1998): a ring with edges to the
// next degree/2 vertices too, where each edge is replaced with the given probability by one to a
// random vertex. The edges of the ring itself stay, which keeps it connected. REQUIRES an even
// degree.
Graph small_world(std::span<const NodeId> ids, int degree, double probability, std::uint64_t seed);

// Uniform among the simple connected regular graphs, nearly: a circulant graph of the degree whose
// edges are swapped in pairs, a-b c-d to a-d c-b, 10 times each, and on until connected. A small or
// odd n gets the largest degree up to `degree` that is possible. A join changes most of it.
Graph random_regular(int n, int degree, std::uint64_t seed);

}  // namespace starling::topology
