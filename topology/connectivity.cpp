#include "topology/connectivity.h"

#include <Eigen/Eigenvalues>
#include <algorithm>

#include "topology/spectrum.h"

namespace starling::topology {

std::optional<Connectivity> connectivity(const Graph& graph) {
  const int n = graph.size();
  if (graph.is_directed() || n < 2 || n > kDenseNodesLimit) return std::nullopt;
  Eigen::MatrixXd laplacian = Eigen::MatrixXd::Zero(n, n);
  for (int i = 0; i < n; ++i) {
    laplacian(i, i) = graph.degree(i);
    for (const int j : graph.in[static_cast<std::size_t>(i)]) laplacian(i, j) = -1;
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(laplacian);
  const Eigen::VectorXd mode = solver.eigenvectors().col(1);
  return Connectivity{.value = std::max(0.0, solver.eigenvalues()[1]),
                      .entries = {mode.begin(), mode.end()}};
}

std::size_t tolerated_liars(double connectivity) {
  constexpr double kRounding = 1e-9;  // relative, of an eigenvalue
  std::size_t liars = 0;
  const auto is_contained = [&](double b) {
    return connectivity * (1 - kRounding) - b > 2 * b * b;
  };
  while (is_contained(static_cast<double>(liars + 1))) ++liars;
  return liars;
}

}  // namespace starling::topology
