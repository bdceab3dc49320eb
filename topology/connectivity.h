// Algebraic connectivity (Fiedler, 1973): the second smallest eigenvalue mu of the graph's
// Laplacian L = D - A, and its eigenvector, which tells the two parts apart that the graph joins
// worst.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "topology/graph.h"

namespace starling::topology {

struct Connectivity {
  double value = 0;             // mu; 0: not connected
  std::vector<double> entries;  // of the eigenvector, by vertex; their squares add up to 1
};

// Nothing for a directed graph, for fewer than two vertices, and above kDenseNodesLimit of them
// (spectrum.h).
std::optional<Connectivity> connectivity(const Graph& graph);

// The largest b with mu - b > 2 b^2: so many of the nodes may send false vectors, wherever they
// are, and averaging with each node's b largest differences shortened to the next one's length
// still brings the others together. docs/algorithms.md has the proof, and what it leaves out.
std::size_t tolerated_liars(double connectivity);

}  // namespace starling::topology
