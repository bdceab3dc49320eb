// NormalEquations: least squares of one node, and of a network of nodes, in closed form.
//   F(x) = 1 / (2 m) sum_r (a_r x - y_r)^2 + 1/2 x^T diag(l2) x = 1/2 x^T M x - x^T r + constant
#pragma once

#include <Eigen/Cholesky>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "models/data/dataset.h"
#include "models/data/partition.h"

namespace starling::models {

class NormalEquations {
 public:
  // Rows of `size` numbers, the last of which belongs to the bias if there is one.
  explicit NormalEquations(std::size_t size)
      : matrix_(Eigen::MatrixXd::Zero(index(size), index(size))),
        right_(Eigen::VectorXd::Zero(index(size))) {}

  // m of them before finish().
  void add(const Eigen::VectorXd& row, double target);
  // l2 is of the first `penalized` numbers of x.
  void finish(double l2, std::size_t penalized);
  // F becomes the sum of both. REQUIRES two that are finished, or one that is empty.
  NormalEquations& operator+=(const NormalEquations& other);
  // x = argmin F(x) + <c, x> + (mu / 2) ||x||^2. False, with x unchanged, if it is not unique.
  // Keeps the factors for this mu.
  bool minimize(const Eigen::VectorXd& c, double mu, Eigen::VectorXd& x);

 private:
  static Eigen::Index index(std::size_t size) { return static_cast<Eigen::Index>(size); }

  Eigen::MatrixXd matrix_;
  Eigen::VectorXd right_;
  double rows_ = 0;
  double mu_ = 0;
  std::optional<Eigen::LDLT<Eigen::MatrixXd>> factors_;  // of M + mu I
};

struct LeastSquaresOptions {
  bool bias = true;
  double l2 = 0;
  double weight_decay = 0;
};

// The best linear model of a network: the minimiser w, b of
//   mean over the nodes i with samples of  1 / (2 m_i) |X_i w + b - y_i|^2
//     +  l2 / 2 |w|^2  +  weight_decay / 2 (|w|^2 + b^2)
// where node i holds the m_i rows parts[i]: w, then b if there is a bias. Empty when it is not
// unique. REQUIRES DenseFeatures and targets.
std::vector<double> least_squares(const Dataset& set, std::span<const Rows> parts,
                                  const LeastSquaresOptions& options);

}  // namespace starling::models
