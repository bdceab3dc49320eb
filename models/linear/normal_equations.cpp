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

NormalEquations equations_of(const Dataset& set, const Rows& rows,
                             const LeastSquaresOptions& options) {
  const auto& values = std::get<DenseFeatures>(set.features).values;
  const std::size_t size = set.columns + (options.bias ? 1 : 0);
  NormalEquations equations(size);
  Eigen::VectorXd row = Eigen::VectorXd::Ones(static_cast<Eigen::Index>(size));
  for (const std::uint32_t r : rows) {
    std::copy_n(values.data() + r * set.columns, set.columns, row.begin());
    equations.add(row, set.targets[r]);
  }
  equations.finish(options.l2, set.columns);
  return equations;
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

std::vector<double> least_squares(const Dataset& set, std::span<const Rows> parts,
                                  const LeastSquaresOptions& options) {
  const std::size_t size = set.columns + (options.bias ? 1 : 0);
  NormalEquations all(size);
  double nodes = 0;  // number of nodes with samples; their objectives are summed, not averaged
  for (const Rows& rows : parts) {
    if (rows.empty()) continue;
    all += equations_of(set, rows, options);
    nodes += 1;
  }
  const Eigen::VectorXd none = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(size));
  Eigen::VectorXd x;
  if (!all.minimize(none, nodes * options.weight_decay, x)) return {};
  return {x.begin(), x.end()};
}

}  // namespace starling::models
