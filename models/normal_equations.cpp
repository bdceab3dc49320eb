#include "models/normal_equations.h"

namespace starling::models {
namespace {

constexpr double kLeastCondition = 1e-13;  // reciprocal; below, the equations are singular

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

bool NormalEquations::minimize(const Eigen::VectorXd& c, double mu, Eigen::VectorXd& x) {
  if (!factors_ || mu != mu_) {
    Eigen::MatrixXd shifted = matrix_;
    shifted.diagonal().array() += mu;
    factors_.emplace(shifted);
    mu_ = mu;
  }
  if (factors_->info() != Eigen::Success || factors_->rcond() < kLeastCondition) return false;
  x = factors_->solve(right_ - c);
  return true;
}

}  // namespace starling::models
