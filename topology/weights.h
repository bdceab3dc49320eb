// The weight of a neighbour's model in a node's own. Metropolis weights (Xiao, Boyd: Fast linear
// iterations for distributed averaging, 2004) need only the degrees of both ends:
//   w_ij = 1 / (1 + max(d_i, d_j)) on an edge,   w_ii = 1 - sum_j w_ij,   0 elsewhere.
// W is symmetric and doubly stochastic on undirected graphs, and on directed ones that are regular,
// as all directed graphs of build() are.
#pragma once

#include <span>
#include <vector>

#include "topology/graph.h"

namespace starling::topology {

// The weight of an edge from the degrees of its ends; on directed graphs the in-degrees.
double metropolis(int degree_i, int degree_j);

// The rows of W without their zeros.
struct Weights {
  std::vector<double> self;               // w_ii
  std::vector<std::vector<double>> from;  // from[i][k]: at i, of the neighbour in[i][k]
};

Weights metropolis_weights(const Graph& graph);

// mixed = W x. REQUIRES both of the graph's size, not overlapping.
void mix(const Graph& graph, const Weights& weights, std::span<const double> x,
         std::span<double> mixed);

}  // namespace starling::topology
