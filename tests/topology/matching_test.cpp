#include "topology/matching.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "tests/topology/sites.h"
#include "topology/drawn.h"

using namespace starling::topology;

namespace {

std::vector<std::pair<int, int>> pairs_of(const std::vector<int>& partner) {
  std::vector<std::pair<int, int>> pairs;
  for (int vertex = 0; vertex < static_cast<int>(partner.size()); ++vertex)
    if (partner[static_cast<std::size_t>(vertex)] > vertex)
      pairs.emplace_back(vertex, partner[static_cast<std::size_t>(vertex)]);
  return pairs;
}

}  // namespace

TEST_CASE("The first matching of sixteen by seed 77 is the known one") {
  // The order 10 6 8 15 7 4 14 2 5 3 1 0 13 11 9 12, two by two.
  const std::vector<std::pair<int, int>> known = {{0, 1},  {2, 14}, {3, 5},  {4, 7},
                                                  {6, 10}, {8, 15}, {9, 12}, {11, 13}};
  CHECK(pairs_of(matching(graph_of(Kind::complete, 16), 77, 0)) == known);
}

TEST_CASE("Partners are neighbours of each other and no edge is left between two without one") {
  const Graph graphs[] = {graph_of(Kind::complete, 16),
                          graph_of(Kind::complete, 7),
                          graph_of(Kind::complete, 1),
                          graph_of(Kind::complete, 100),
                          graph_of(Kind::ring, 9),
                          graph_of(Kind::path, 2),
                          graph_of(Kind::star, 8),
                          graph_of(Kind::torus, 12),
                          graph_of(Kind::complete, 0),
                          graph_of(Kind::hypercube, 8),
                          undirected(3, {})};
  for (const Graph& graph : graphs)
    for (std::uint64_t t = 0; t < 20; ++t) {
      const std::vector<int> partner = matching(graph, 5, t);
      REQUIRE(partner.size() == graph.in.size());
      for (std::size_t vertex = 0; vertex < partner.size(); ++vertex) {
        const std::vector<int>& near = graph.in[vertex];
        const auto is_free = [&](int other) {
          return partner[static_cast<std::size_t>(other)] < 0;
        };
        if (partner[vertex] < 0) {
          CHECK(std::ranges::none_of(near, is_free));
          continue;
        }
        CHECK(std::ranges::binary_search(near, partner[vertex]));
        CHECK(partner[static_cast<std::size_t>(partner[vertex])] == static_cast<int>(vertex));
      }
    }
}

TEST_CASE("Every edge has its rounds and another seed draws others") {
  for (const Graph& graph :
       {graph_of(Kind::ring, 8), graph_of(Kind::complete, 6), graph_of(Kind::torus, 16)}) {
    std::set<std::pair<int, int>> seen;
    for (std::uint64_t t = 0; t < 200; ++t)
      for (const auto& pair : pairs_of(matching(graph, 1, t))) seen.insert(pair);
    CHECK(seen.size() == graph.edge_count());
  }
  CHECK(matching(graph_of(Kind::complete, 16), 1, 0) !=
        matching(graph_of(Kind::complete, 16), 2, 0));
  CHECK(matching(graph_of(Kind::complete, 100), 1, 0) !=
        matching(graph_of(Kind::complete, 100), 1, 1));
}
