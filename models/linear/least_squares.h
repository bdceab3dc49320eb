// least_squares: the best linear model of a network of nodes, in closed form.
#pragma once

#include <span>
#include <vector>

#include "models/data/dataset.h"
#include "models/data/partition.h"

namespace starling::models {

struct LeastSquaresOptions {
  bool bias = true;
  double l2 = 0;
  double weight_decay = 0;
};

// The minimiser w, b of
//   mean over the nodes i with samples of  1 / (2 m_i) |X_i w + b - y_i|^2
//     +  l2 / 2 |w|^2  +  weight_decay / 2 (|w|^2 + b^2)
// where node i holds the m_i rows parts[i]: w, then b if there is a bias. Empty when it is not
// unique. REQUIRES DenseFeatures and targets.
std::vector<double> least_squares(const Dataset& set, std::span<const Rows> parts,
                                  const LeastSquaresOptions& options);

}  // namespace starling::models
