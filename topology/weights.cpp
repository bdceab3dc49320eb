#include "topology/weights.h"

#include <algorithm>

#include "base/check.h"

namespace starling::topology {

double metropolis(int degree_i, int degree_j) {
  return 1.0 / (1.0 + std::max(degree_i, degree_j));
}

Weights metropolis_weights(const Graph& graph) {
  Weights weights;
  weights.self.reserve(graph.in.size());
  weights.from.resize(graph.in.size());
  for (int i = 0; i < graph.size(); ++i) {
    double self = 1;
    for (int j : graph.in[i]) {
      weights.from[i].push_back(metropolis(graph.degree(i), graph.degree(j)));
      self -= weights.from[i].back();
    }
    weights.self.push_back(self);
  }
  return weights;
}

void mix(const Graph& graph, const Weights& weights, std::span<const double> x,
         std::span<double> mixed) {
  ENSURE(x.size() == graph.in.size() && mixed.size() == x.size(), "one number a vertex");
  for (std::size_t i = 0; i < x.size(); ++i) {
    double sum = weights.self[i] * x[i];
    for (std::size_t k = 0; k < graph.in[i].size(); ++k)
      sum += weights.from[i][k] * x[graph.in[i][k]];
    mixed[i] = sum;
  }
}

}  // namespace starling::topology
