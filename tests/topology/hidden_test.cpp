// The graph where nobody can dial some of the nodes, of all kinds.
#include "topology/hidden.h"

#include <algorithm>

#include "tests/topology/sites.h"
#include "topology/matching.h"
#include "topology/weights.h"

using namespace starling;
using namespace starling::topology;

namespace {

// The last `hidden` of n nodes are hidden, or with `is_spread` as many all over the numbers.
std::vector<Site> sites_with(int n, int hidden, bool is_spread) {
  std::vector<Site> sites = sites_of(n);
  for (int k = 0; k < n; ++k)
    sites[k].is_hidden = is_spread ? (k * hidden) / n != ((k + 1) * hidden) / n : k >= n - hidden;
  return sites;
}

void expect_no_edge_of_hidden(const Graph& graph, const std::vector<Site>& sites) {
  for (int i = 0; i < graph.size(); ++i)
    for (const int j : graph.out[i]) CHECK_FALSE((sites[i].is_hidden && sites[j].is_hidden));
}

void expect_neighbors_to_dial(const Graph& graph, const std::vector<Site>& sites) {
  const auto dialled = std::ranges::count_if(sites, [](auto& site) { return !site.is_hidden; });
  for (int i = 0; i < graph.size(); ++i)
    if (sites[i].is_hidden) CHECK(graph.degree(i) >= std::min<int>(2, static_cast<int>(dialled)));
}

// W is symmetric and its rows sum up to one, so it is doubly stochastic.
void expect_doubly_stochastic(const Graph& graph) {
  CHECK_FALSE(graph.is_directed());
  const Weights weights = metropolis_weights(graph);
  for (const double self : weights.self) CHECK(self > 0);
}

// The edges that are not of the kind itself are shared out evenly.
void expect_spread(const Graph& direct, const Graph& graph, const std::vector<Site>& sites) {
  int extra = 0, most = 0, dialled = 0;
  for (int i = 0; i < graph.size(); ++i) {
    if (sites[i].is_hidden) continue;
    ++dialled;
    const int more = graph.degree(i) - direct.degree(i);
    extra += more;
    most = std::max(most, more);
  }
  CHECK(most <= 3 + 2 * (extra / dialled + 1));
}

void expect_all(const Options& options, const std::vector<Site>& sites) {
  const Result<Graph> graph = build(options, sites);
  REQUIRE(graph.has_value());
  const bool any = std::ranges::any_of(sites, [](auto& site) { return !site.is_hidden; });
  expect_no_edge_of_hidden(*graph, sites);
  if (any) CHECK(graph->is_connected());
  expect_neighbors_to_dial(*graph, sites);
  expect_doubly_stochastic(*graph);
  const Graph direct = graph_of(options, static_cast<int>(sites.size()));
  if (any && !direct.is_directed()) expect_spread(direct, *graph, sites);
  for (int vertex = 0; vertex < graph->size(); ++vertex)
    CHECK(neighbors(options, sites, vertex)->in == graph->in[vertex]);
  for (std::uint64_t t = 0; t < 3; ++t) {
    const std::vector<int> partners = matching(*graph, options.seed, t);
    for (int i = 0; i < graph->size(); ++i)
      if (partners[i] >= 0) CHECK_FALSE((sites[i].is_hidden && sites[partners[i]].is_hidden));
  }
}

}  // namespace

TEST_CASE("Graphs of all kinds lead around nodes that nobody can dial") {
  for (const Kind kind : kDrawnKinds)
    for (const int n : {2, 3, 5, 9, 16, 33})
      for (const int hidden : {1, n / 4, n / 2, (3 * n) / 4, n - 1, n})
        for (const bool is_spread : {false, true}) {
          if (hidden == 0) continue;
          CAPTURE(to_string(kind));
          CAPTURE(n);
          CAPTURE(hidden);
          CAPTURE(is_spread);
          expect_all({.kind = kind, .probability = 0.3}, sites_with(n, hidden, is_spread));
        }
}

TEST_CASE("A listed edge of two hidden nodes leads over one that can be dialled") {
  Options options{.kind = Kind::file};
  options.edges = {{"node-0", "node-1"}, {"node-1", "node-2"}};
  std::vector<Site> sites = sites_of(3);
  sites[1].is_hidden = sites[2].is_hidden = true;
  const Result<Graph> graph = build(options, sites);
  CHECK(graph->out == std::vector<std::vector<int>>{{1, 2}, {0}, {0}});
}

TEST_CASE("Of sixteen nodes the only one that can be dialled is the neighbour of all") {
  for (const Kind kind : kDrawnKinds) {
    CAPTURE(to_string(kind));
    const Result<Graph> graph =
        build({.kind = kind, .probability = 0.3}, sites_with(16, 15, false));
    CHECK(graph->degree(0) == 15);
    CHECK(graph->edge_count() == 15);
  }
}

TEST_CASE("Without hidden nodes the graph is that of the kind") {
  const Graph graph = graph_of(Kind::exponential, 9);
  std::vector<Vertex> vertices;
  for (const Site& site : sites_of(9)) vertices.push_back({site.id, false});
  CHECK(around_hidden(graph, vertices, 1) == graph);
}
