// The mixing matrix in full, for those who do linear algebra on it. Apart from weights.h, so that
// whoever only asks for a weight does not compile Eigen.
#pragma once

#include <Eigen/Core>

#include "topology/graph.h"

namespace starling::topology {

// n x n Metropolis weights: row i is what i takes, column j is what j gives.
Eigen::MatrixXd mixing_matrix(const Graph& graph);

}  // namespace starling::topology
