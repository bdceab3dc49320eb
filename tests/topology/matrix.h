// The full mixing matrix.
#pragma once

#include <Eigen/Core>

#include "topology/weights.h"

namespace starling::topology {

// n x n Metropolis weights: row i has the weights of what i receives.
inline Eigen::MatrixXd mixing_matrix(const Graph& graph) {
  const Weights weights = metropolis_weights(graph);
  Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(graph.size(), graph.size());
  for (int i = 0; i < graph.size(); ++i) {
    matrix(i, i) = weights.self[i];
    for (std::size_t k = 0; k < graph.in[i].size(); ++k)
      matrix(i, graph.in[i][k]) = weights.from[i][k];
  }
  return matrix;
}

}  // namespace starling::topology
