#include "topology/build.h"

#include <algorithm>

#include "tests/topology/sites.h"
#include "topology/shapes.h"

using namespace starling;
using namespace starling::topology;

namespace {

// What neighbors() says of every vertex is what the graph says.
void expect_of(const Options& options, const std::vector<Site>& sites) {
  const Result<Graph> graph = build(options, sites);
  REQUIRE(graph.has_value());
  for (int vertex = 0; vertex < graph->size(); ++vertex) {
    CAPTURE(vertex);
    const Result<Neighbors> near = neighbors(options, sites, vertex);
    REQUIRE(near.has_value());
    CHECK(near->out == graph->out[static_cast<std::size_t>(vertex)]);
    CHECK(near->in == graph->in[static_cast<std::size_t>(vertex)]);
  }
}

}  // namespace

TEST_CASE("What a vertex knows of itself is what the graph says of it") {
  for (const Kind kind : kDrawnKinds) {
    CAPTURE(to_string(kind));
    for (int n = 1; n <= 40; ++n) {
      CAPTURE(n);
      for (const std::uint64_t seed : {1, 2})
        expect_of({.kind = kind, .probability = 0.3, .seed = seed}, sites_of(n));
    }
  }
}

TEST_CASE("Of an edge list a vertex knows the edges that name it and somebody who is there") {
  Options options{.kind = Kind::file};
  options.edges = {{"node-0", "node-1"}, {"node-1", "node-2"}, {"node-2", "node-9"},
                   {"node-2", "node-0"}, {"node-1", "node-0"}, {"node-3", "node-3"}};
  expect_of(options, sites_of(5));
  CHECK(neighbors(options, sites_of(5), 2)->in == std::vector<int>{0, 1});
}

TEST_CASE("The rules of a vertex are symmetric where the graph is undirected") {
  for (const Rule rule : {near_in_path, near_in_ring, near_in_complete, near_in_star, near_in_torus,
                          near_in_grid, near_in_hypercube}) {
    for (int n = 1; n <= 40; ++n) {
      for (int i = 0; i < n; ++i) {
        for (const int j : rule(n, i)) {
          REQUIRE(j >= 0);
          REQUIRE(j < n);
          const std::vector<int> back = rule(n, j);
          CHECK(std::ranges::find(back, i) != back.end());
        }
      }
    }
  }
}

TEST_CASE("A degree that the kind cannot have is refused without a graph too") {
  const auto refused = neighbors({.kind = Kind::random, .degree = 3}, sites_of(8), 0);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().text ==
        build({.kind = Kind::random, .degree = 3}, sites_of(8)).error().text);
}
