#include "topology/connectivity.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <numeric>

using namespace starling::topology;

// Fiedler, 1973: 2 (1 - cos(2 pi / n)) of a ring, n of the complete graph, 1 of a star.
TEST_CASE("The algebraic connectivity is that of closed forms") {
  constexpr int kVertices = 8;
  Edges ring, complete, star;
  for (int i = 0; i < kVertices; ++i) {
    ring.emplace_back(i, (i + 1) % kVertices);
    if (i > 0) star.emplace_back(0, i);
    for (int j = 0; j < i; ++j) complete.emplace_back(i, j);
  }
  const auto value = [](const Edges& edges) {
    return connectivity(undirected(kVertices, edges))->value;
  };
  CHECK(value(ring) == doctest::Approx(2 * (1 - std::cos(2 * std::numbers::pi / kVertices))));
  CHECK(value(complete) == doctest::Approx(kVertices));
  CHECK(value(star) == doctest::Approx(1));
}

TEST_CASE("One liar asks for a connectivity of more than three and two for more than ten") {
  CHECK(tolerated_liars(0) == 0);
  CHECK(tolerated_liars(3) == 0);
  CHECK(tolerated_liars(3.001) == 1);
  CHECK(tolerated_liars(10) == 1);
  CHECK(tolerated_liars(10.001) == 2);
}

TEST_CASE("The eigenvector tells the two halves apart that one edge joins") {
  const Graph graph = undirected(6, {{0, 1}, {1, 2}, {2, 0}, {3, 4}, {4, 5}, {5, 3}, {2, 3}});
  const auto found = connectivity(graph);
  REQUIRE(found);
  for (int i = 0; i < 3; ++i)
    CHECK(found->entries[static_cast<std::size_t>(i)] *
              found->entries[static_cast<std::size_t>(i + 3)] <
          0);
  CHECK(connectivity(undirected(4, {{0, 1}, {2, 3}}))->value == doctest::Approx(0));
  CHECK_FALSE(connectivity(undirected(1, {})));
  CHECK_FALSE(connectivity(directed(2, {{0, 1}})));
}
