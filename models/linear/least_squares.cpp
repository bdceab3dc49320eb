#include "models/linear/least_squares.h"

#include "models/linear/normal_equations.h"

namespace starling::models {
namespace {

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
