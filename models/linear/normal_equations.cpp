#include "models/linear/normal_equations.h"

namespace starling::models {
namespace {

constexpr double kLeastPivot = 1e-13;  // of the largest; below, the equations are singular

// LDLT's estimate of the condition ignores pivots that are zero.
bool is_regular(const Eigen::LDLT<Eigen::MatrixXd>& factors) {
  if (factors.info() != Eigen::Success) return false;
  const auto pivots = factors.vectorD().array();
  return pivots.minCoeff() > kLeastPivot * pivots.maxCoeff();
}

}  // namespace

void NormalEquations::add(const Eigen::VectorXd& row, double target) {
  matrix_.selfadjointView<Eigen::Lower>().rankUpdate(row);
  right_ += target * row;
  rows_ += 1;
}

void NormalEquations::finish(double l2, std::size_t penalized) {
  if (rows_ > 0) {
    matrix_ /= rows_;
    right_ /= rows_;
  }
  matrix_.diagonal().head(index(penalized)).array() += l2;
  factors_.reset();
}

NormalEquations& NormalEquations::operator+=(const NormalEquations& other) {
  matrix_ += other.matrix_;
  right_ += other.right_;
  factors_.reset();
  return *this;
}

bool NormalEquations::minimize(const Eigen::VectorXd& c, double mu, Eigen::VectorXd& x) {
  if (!factors_ || mu != mu_) {
    Eigen::MatrixXd shifted = matrix_;
    shifted.diagonal().array() += mu;
    factors_.emplace(shifted);
    mu_ = mu;
  }
  if (!is_regular(*factors_)) return false;
  x = factors_->solve(right_ - c);
  return true;
}

}  // namespace starling::models
