#include "topology/build.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "topology/drawn.h"
#include "topology/hidden.h"
#include "topology/shapes.h"

namespace starling::topology {
namespace {

// Sizes of auto: where the next sparser graph costs little agreement and saves much traffic.
constexpr std::size_t kCompleteNodesLimit = 4;
constexpr std::size_t kRingNodesLimit = 8;
constexpr int kAutomaticDegree = 4;

using Sites = std::span<const Site>;

std::vector<NodeId> ids_of(Sites sites) {
  std::vector<NodeId> ids;
  for (const Site& site : sites) ids.push_back(site.id);
  return ids;
}

int count(Sites sites) {
  return static_cast<int>(sites.size());
}

int ring_degree(const Options& options) {
  return options.kind == Kind::automatic ? kAutomaticDegree : options.degree;
}

// For shapes that depend on the number of nodes alone.
template <auto rule, auto graph_by = undirected_by>
Result<Graph> shaped(const Options&, Sites sites) {
  return graph_by(count(sites), rule);
}

Result<Graph> make_random(const Options& options, Sites sites) {
  return hashed_rings(ids_of(sites), ring_degree(options), options.seed);
}
Result<Graph> make_random_regular(const Options& options, Sites sites) {
  return random_regular(count(sites), options.degree, options.seed);
}
Result<Graph> make_erdos_renyi(const Options& options, Sites sites) {
  return erdos_renyi(ids_of(sites), options.probability, options.seed);
}
Result<Graph> make_small_world(const Options& options, Sites sites) {
  return small_world(ids_of(sites), options.degree, options.probability, options.seed);
}
Result<Graph> make_listed(const Options& options, Sites sites) {
  std::map<std::string_view, int> vertex;
  for (int k = 0; k < count(sites); ++k) vertex.emplace(sites[k].name, k);
  Edges edges;
  for (const auto& [a, b] : options.edges) {
    const auto first = vertex.find(a), second = vertex.find(b);
    if (first != vertex.end() && second != vertex.end())
      edges.emplace_back(first->second, second->second);
  }
  return undirected(count(sites), edges);
}

// The neighbours of one vertex.
template <auto rule, auto reverse = rule>
Result<Neighbors> near_by(const Options&, Sites sites, int vertex) {
  return Neighbors{rule(count(sites), vertex), reverse(count(sites), vertex)};
}

Neighbors both_ways(std::vector<int> near) {
  return {near, std::move(near)};
}

Result<Neighbors> near_random(const Options& options, Sites sites, int vertex) {
  return both_ways(near_in_hashed_rings(ids_of(sites), vertex, ring_degree(options), options.seed));
}
Result<Neighbors> near_erdos_renyi(const Options& options, Sites sites, int vertex) {
  return both_ways(near_in_erdos_renyi(ids_of(sites), vertex, options.probability, options.seed));
}
// From the listed edges that name the vertex.
Result<Neighbors> near_listed(const Options& options, Sites sites, int vertex) {
  const std::string& name = sites[vertex].name;
  std::set<std::string_view> named;
  for (const auto& [a, b] : options.edges) {
    if (a == name) named.insert(b);
    if (b == name) named.insert(a);
  }
  std::vector<int> near;
  for (int k = 0; k < count(sites); ++k)
    if (named.contains(sites[k].name)) near.push_back(k);
  return both_ways(std::move(near));
}
// For kinds that need the whole graph.
template <auto make>
Result<Neighbors> near_of_all(const Options& options, Sites sites, int vertex) {
  TRY(const Graph graph, make(options, sites));
  return Neighbors{graph.out[vertex], graph.in[vertex]};
}

struct Row {
  Kind kind;
  Result<Graph> (*make)(const Options& options, Sites sites);
  Result<Neighbors> (*near)(const Options& options, Sites sites, int vertex);
  bool is_directed = false;
};
constexpr Row kRows[] = {
    {Kind::ring, shaped<near_in_ring>, near_by<near_in_ring>},
    {Kind::path, shaped<near_in_path>, near_by<near_in_path>},
    {Kind::star, shaped<near_in_star>, near_by<near_in_star>},
    {Kind::torus, shaped<near_in_torus>, near_by<near_in_torus>},
    {Kind::grid, shaped<near_in_grid>, near_by<near_in_grid>},
    {Kind::complete, shaped<near_in_complete>, near_by<near_in_complete>},
    {Kind::hypercube, shaped<near_in_hypercube>, near_by<near_in_hypercube>},
    {Kind::exponential, shaped<ahead_in_exponential, directed_by>,
     near_by<ahead_in_exponential, behind_in_exponential>, true},
    {Kind::random, make_random, near_random},
    {Kind::random_regular, make_random_regular, near_of_all<make_random_regular>},
    {Kind::erdos_renyi, make_erdos_renyi, near_erdos_renyi},
    {Kind::small_world, make_small_world, near_of_all<make_small_world>},
    {Kind::file, make_listed, near_listed}};

Result<const Row*> row_of(const Options& options, std::size_t n) {
  if (const std::string_view problem = degree_problem(options); !problem.empty())
    return fail("topology.degree = {}: {}", options.degree, problem);
  const auto row = std::ranges::find(kRows, resolve(options.kind, n), &Row::kind);
  if (row == std::end(kRows)) return fail("topology.kind has no graph");
  return row;
}

std::vector<Vertex> vertices_of(Sites sites) {
  std::vector<Vertex> vertices;
  for (const Site& site : sites) vertices.push_back({site.id, site.is_hidden});
  return vertices;
}

bool has_edge(const Graph& graph, int from, int to) {
  return std::ranges::binary_search(graph.out[from], to);
}

// Whatever the direction.
Edges edges_without(const Graph& graph, const Graph& other) {
  Edges edges;
  for (int i = 0; i < graph.size(); ++i)
    for (const int j : graph.out[i])
      if ((i < j || !has_edge(graph, j, i)) && !has_edge(other, i, j) && !has_edge(other, j, i))
        edges.emplace_back(i, j);
  return edges;
}

void tidy(std::vector<int>& near, int vertex) {
  std::ranges::sort(near);
  const auto repeats = std::ranges::unique(near);
  near.erase(repeats.begin(), repeats.end());
  std::erase(near, vertex);
}

}  // namespace

Kind resolve(Kind kind, std::size_t n) {
  if (kind != Kind::automatic) return kind;
  if (n <= kCompleteNodesLimit) return Kind::complete;
  return n <= kRingNodesLimit ? Kind::ring : Kind::random;
}

bool is_directed(Kind kind) {
  const auto row = std::ranges::find(kRows, kind, &Row::kind);
  return row != std::end(kRows) && row->is_directed;
}

Result<Graph> build(const Options& options, std::span<const Site> sites) {
  TRY(const Row* row, row_of(options, sites.size()));
  TRY(const Graph graph, row->make(options, sites));
  return around_hidden(graph, vertices_of(sites), options.seed);
}

Detours detours(const Options& options, std::span<const Site> sites, const Graph& graph) {
  if (std::ranges::none_of(sites, &Site::is_hidden)) return {};
  std::vector<Site> dialled(sites.begin(), sites.end());
  for (Site& site : dialled) site.is_hidden = false;
  const auto plain = build(options, dialled);
  if (!plain) return {};
  return {edges_without(*plain, graph), edges_without(graph, *plain)};
}

Result<Neighbors> neighbors(const Options& options, std::span<const Site> sites, int vertex) {
  if (std::ranges::any_of(sites, &Site::is_hidden))
    return near_of_all<build>(options, sites, vertex);
  TRY(const Row* row, row_of(options, sites.size()));
  TRY(Neighbors near, row->near(options, sites, vertex));
  tidy(near.out, vertex);
  tidy(near.in, vertex);
  return near;
}

}  // namespace starling::topology
