// The full mixing matrix, for linear algebra. Apart from weights.h, whose users then do not compile
// Eigen.
#pragma once

#include <Eigen/Core>

#include "topology/graph.h"

namespace starling::topology {

// n x n Metropolis weights: row i has the weights of what i receives.
Eigen::MatrixXd mixing_matrix(const Graph& graph);

}  // namespace starling::topology
