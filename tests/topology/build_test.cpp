#include "topology/build.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "base/prng.h"
#include "tests/topology/sites.h"
#include "topology/drawn.h"
#include "topology/shapes.h"

using namespace starling;
using namespace starling::topology;

namespace {

using Pair = std::pair<std::string, std::string>;

// The edges by names, so that graphs of different members compare.
std::set<Pair> named_edges(const Options& options, const std::vector<Site>& sites) {
  const Graph graph = build(options, sites).value();
  std::set<Pair> edges;
  for (int i = 0; i < graph.size(); ++i)
    for (int j : graph.out[i]) edges.insert(std::minmax(sites[i].name, sites[j].name));
  return edges;
}

// How many edges appear or vanish when node-`joiner` joins the others of node-0 .. node-(n-1).
std::size_t edges_changed_by_join(const Options& options, int n, int joiner) {
  const std::vector<Site> after = sites_of(n);
  std::vector<Site> before = after;
  before.erase(before.begin() + joiner);
  const std::set<Pair> old_edges = named_edges(options, before);
  const std::set<Pair> new_edges = named_edges(options, after);
  std::vector<Pair> changed;
  std::ranges::set_symmetric_difference(old_edges, new_edges, std::back_inserter(changed));
  return changed.size();
}

}  // namespace

TEST_CASE("Every kind is connected at every number of members") {
  for (Kind kind : kDrawnKinds) {
    for (int n = 1; n <= 40; ++n) {
      for (std::uint64_t seed : {1, 2, 3}) {
        CAPTURE(to_string(kind));
        CAPTURE(n);
        const Graph graph = graph_of(Options{.kind = kind, .probability = 0.3, .seed = seed}, n);
        CHECK(graph.size() == n);
        CHECK(graph.is_connected());
        CHECK((n > 1) == (graph.edge_count() > 0));
      }
    }
  }
}

TEST_CASE("Nobody makes a graph of nobody") {
  for (Kind kind : kDrawnKinds) CHECK(graph_of(kind, 0).size() == 0);
}

TEST_CASE("Auto is complete up to 4 and a ring up to 8 and random above") {
  for (int n = 1; n <= 4; ++n) CHECK(graph_of(Kind::automatic, n) == graph_of(Kind::complete, n));
  for (int n = 5; n <= 8; ++n) CHECK(graph_of(Kind::automatic, n) == graph_of(Kind::ring, n));
  for (int n = 9; n <= 20; ++n)
    CHECK(graph_of(Options{.kind = Kind::automatic, .degree = 6}, n) == graph_of(Kind::random, n));
}

TEST_CASE("A join changes three edges of a ring") {
  for (int joiner = 0; joiner < 30; ++joiner)
    CHECK(edges_changed_by_join({.kind = Kind::ring}, 30, joiner) == 3);
}

TEST_CASE("A join changes at most three edges of each ring of a random graph") {
  for (int degree : {2, 4, 8})
    for (int joiner = 0; joiner < 50; ++joiner)
      CHECK(edges_changed_by_join({.kind = Kind::random, .degree = degree}, 50, joiner) <=
            static_cast<std::size_t>(3 * degree / 2));
}

TEST_CASE("A join leaves most edges of the other hashed graphs alone") {
  for (int joiner = 0; joiner < 50; ++joiner) {
    CHECK(edges_changed_by_join({.kind = Kind::erdos_renyi}, 50, joiner) <= 20);
    CHECK(edges_changed_by_join({.kind = Kind::small_world}, 50, joiner) <= 20);
  }
}

TEST_CASE("Random graphs have the degree they are asked for or a little less") {
  const DegreeRange degree = graph_of(Options{.kind = Kind::random, .degree = 6}, 100).degrees();
  CHECK(degree.most == 6);
  CHECK(degree.least >= 4);
  CHECK(degree.mean > 5.5);
}

TEST_CASE("Random regular graphs are regular") {
  for (int degree = 2; degree <= 7; ++degree) {
    for (int n = degree + 1; n <= 40; ++n) {
      if (n * degree % 2 != 0) continue;
      const DegreeRange range =
          graph_of(Options{.kind = Kind::random_regular, .degree = degree}, n).degrees();
      CHECK(range.least == degree);
      CHECK(range.most == degree);
    }
  }
}

TEST_CASE("Another seed draws another graph and the same seed the same") {
  for (Kind kind : {Kind::random, Kind::random_regular, Kind::erdos_renyi, Kind::small_world}) {
    const Options one{.kind = kind, .seed = 1}, two{.kind = kind, .seed = 2};
    CHECK(graph_of(one, 30) == graph_of(one, 30));
    CHECK(graph_of(one, 30) != graph_of(two, 30));
  }
}

TEST_CASE("Probability takes random kinds from a ring to everything") {
  const auto edges = [](Kind kind, double probability) {
    return graph_of(Options{.kind = kind, .probability = probability}, 20).edge_count();
  };
  CHECK(edges(Kind::erdos_renyi, 0) == 20);
  CHECK(edges(Kind::erdos_renyi, 1) == 190);
  CHECK(graph_of(Options{.kind = Kind::small_world, .probability = 0}, 20) ==
        circulant(20, {1, 2}));
  CHECK(graph_of(Options{.kind = Kind::small_world, .probability = 1}, 20) !=
        circulant(20, {1, 2}));
}

TEST_CASE("A torus is near-square or a circulant graph") {
  CHECK_FALSE(near_square(8).has_value());
  CHECK_FALSE(near_square(21).has_value());
  CHECK(near_square(18)->rows == 3);
  CHECK(near_square(16)->columns == 4);
  CHECK(graph_of(Kind::torus, 8) == circulant(8, {1, 2}));
  CHECK(graph_of(Kind::torus, 37) == circulant(37, {1, 6}));
  CHECK(graph_of(Kind::torus, 12).degrees().least == 4);
}

TEST_CASE("A hypercube of another size is the part of the next one") {
  CHECK(graph_of(Kind::hypercube, 8).degrees().least == 3);
  const Graph twelve = graph_of(Kind::hypercube, 12);
  CHECK(twelve.degrees().most <= 4);
  CHECK(twelve.in[11] == std::vector<int>{3, 9, 10});
}

TEST_CASE("An exponential graph is directed and regular") {
  const Graph graph = graph_of(Kind::exponential, 20);
  CHECK(graph.is_directed());
  CHECK(graph.out[18] == std::vector<int>{0, 2, 6, 14, 19});
  CHECK(graph.degrees().least == graph.degrees().most);
}

TEST_CASE("A listed graph has the edges whose ends are both there") {
  const Options options{.kind = Kind::file,
                        .edges = {{"node-0", "node-2"}, {"node-2", "node-1"}, {"node-1", "gone"}}};
  CHECK(graph_of(options, 3) == undirected(3, {{0, 2}, {1, 2}}));
}
