#include "topology/weights.h"

#include <vector>

#include "tests/topology/matrix.h"
#include "tests/topology/sites.h"

using namespace starling::topology;

TEST_CASE("An edge weighs the same at both ends") {
  CHECK(metropolis(2, 2) == doctest::Approx(1.0 / 3));
  CHECK(metropolis(1, 15) == 1.0 / 16);
  CHECK(metropolis(15, 1) == metropolis(1, 15));
}

TEST_CASE("Mixing matrices are doubly stochastic and symmetric where undirected") {
  for (Kind kind : kDrawnKinds) {
    for (int n = 1; n <= 40; ++n) {
      CAPTURE(to_string(kind));
      CAPTURE(n);
      const Graph graph = graph_of(kind, n);
      const Eigen::MatrixXd w = mixing_matrix(graph);
      CHECK(w.minCoeff() >= 0);
      CHECK((w.rowwise().sum().array() - 1).abs().maxCoeff() < 1e-12);
      CHECK((w.colwise().sum().array() - 1).abs().maxCoeff() < 1e-12);
      CHECK((w == w.transpose()) == !graph.is_directed());
    }
  }
}

TEST_CASE("Everyone keeps a part of their own model") {
  // So that W is never periodic: a modulus of 1 means a graph in pieces.
  for (Kind kind : kDrawnKinds)
    for (int n = 1; n <= 40; ++n)
      CHECK(mixing_matrix(graph_of(kind, n)).diagonal().minCoeff() > 0.02);
}

TEST_CASE("Mixing is a product with the mixing matrix") {
  for (Kind kind : kDrawnKinds) {
    const Graph graph = graph_of(kind, 13);
    const Eigen::VectorXd x = Eigen::VectorXd::LinSpaced(13, -1, 5).array().sin();
    std::vector<double> mixed(13);
    mix(graph, metropolis_weights(graph), {x.data(), 13}, mixed);
    CHECK((mixing_matrix(graph) * x - Eigen::VectorXd::Map(mixed.data(), 13)).norm() < 1e-14);
  }
}
