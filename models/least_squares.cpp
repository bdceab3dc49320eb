#include "models/least_squares.h"

#include <Eigen/Cholesky>

#include "models/normal_equations.h"

namespace starling::models {
namespace {

// The normal equations, summed node by node.
struct Normal {
  Eigen::MatrixXd matrix;
  Eigen::VectorXd right;
  double nodes = 0;
};

void add_node(const Dataset& set, const Rows& rows, Normal& normal) {
  const auto& values = std::get<DenseFeatures>(set.features).values;
  const auto columns = static_cast<Eigen::Index>(set.columns);
  Eigen::VectorXd row = Eigen::VectorXd::Ones(normal.right.size());
  Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(row.size(), row.size());
  Eigen::VectorXd right = Eigen::VectorXd::Zero(row.size());
  for (const std::uint32_t r : rows) {
    row.head(columns) = Eigen::Map<const Eigen::VectorXd>(values.data() + r * set.columns, columns);
    matrix.selfadjointView<Eigen::Lower>().rankUpdate(row);
    right += set.targets[r] * row;
  }
  normal.matrix += matrix / static_cast<double>(rows.size());
  normal.right += right / static_cast<double>(rows.size());
  normal.nodes += 1;
}

}  // namespace

std::vector<double> least_squares(const Dataset& set, std::span<const Rows> parts,
                                  const LeastSquaresOptions& options) {
  const auto columns = static_cast<Eigen::Index>(set.columns);
  const Eigen::Index size = columns + (options.bias ? 1 : 0);
  Normal normal{Eigen::MatrixXd::Zero(size, size), Eigen::VectorXd::Zero(size)};
  for (const Rows& rows : parts)
    if (!rows.empty()) add_node(set, rows, normal);
  if (normal.nodes == 0) return {};
  normal.matrix.diagonal().head(columns).array() += options.l2 * normal.nodes;
  const Eigen::LDLT<Eigen::MatrixXd> factors(normal.matrix);
  if (!is_regular(factors)) return {};
  const Eigen::VectorXd solution = factors.solve(normal.right);
  return {solution.begin(), solution.end()};
}

}  // namespace starling::models
