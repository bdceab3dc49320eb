// NormalEquations: least squares of one node, in closed form.
//   F(x) = 1 / (2 m) sum_r (a_r x - y_r)^2 + 1/2 x^T diag(l2) x = 1/2 x^T M x - x^T r + constant
#pragma once

#include <Eigen/Cholesky>
#include <cstddef>
#include <optional>
#include <span>

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

}  // namespace starling::models
