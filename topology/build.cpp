#include "topology/build.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "topology/drawn.h"
#include "topology/neighbors.h"
#include "topology/shapes.h"

namespace starling::topology {
namespace {

// Sizes of auto: where the next sparser graph costs little agreement and saves much traffic.
constexpr std::size_t kCompleteNodesLimit = 4;
constexpr std::size_t kRingNodesLimit = 8;
constexpr int kAutomaticDegree = 4;

std::vector<NodeId> ids_of(std::span<const Site> sites) {
  std::vector<NodeId> ids;
  for (const Site& site : sites) ids.push_back(site.id);
  return ids;
}

Graph listed(const NamedEdges& named, std::span<const Site> sites) {
  std::map<std::string_view, int> vertex;
  for (std::size_t k = 0; k < sites.size(); ++k) vertex.emplace(sites[k].name, static_cast<int>(k));
  Edges edges;
  for (const auto& [a, b] : named) {
    const auto first = vertex.find(a), second = vertex.find(b);
    if (first != vertex.end() && second != vertex.end())
      edges.emplace_back(first->second, second->second);
  }
  return undirected(static_cast<int>(sites.size()), edges);
}

}  // namespace

Kind resolve(Kind kind, std::size_t n) {
  if (kind != Kind::automatic) return kind;
  if (n <= kCompleteNodesLimit) return Kind::complete;
  return n <= kRingNodesLimit ? Kind::ring : Kind::random;
}

namespace {

using Sites = std::span<const Site>;

int count(Sites sites) {
  return static_cast<int>(sites.size());
}

// Makes the graph of shapes that only depend on the number of nodes.
template <auto shape>
Result<Graph> shaped(const Options&, Sites sites) {
  return shape(count(sites));
}

Result<Graph> make_random(const Options& options, Sites sites) {
  const bool is_automatic = options.kind == Kind::automatic;
  return hashed_rings(ids_of(sites), is_automatic ? kAutomaticDegree : options.degree,
                      options.seed);
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
  return listed(options.edges, sites);
}

// Whom one vertex sends to and hears; see neighbors.h.
template <auto rule, auto reverse = rule>
Result<Neighbors> near_by(const Options&, Sites sites, int vertex) {
  return Neighbors{rule(count(sites), vertex), reverse(count(sites), vertex)};
}

Neighbors both_ways(std::vector<int> near) {
  return {near, std::move(near)};
}

Result<Neighbors> near_random(const Options& options, Sites sites, int vertex) {
  const bool is_automatic = options.kind == Kind::automatic;
  const int degree = is_automatic ? kAutomaticDegree : options.degree;
  return both_ways(near_in_hashed_rings(ids_of(sites), vertex, degree, options.seed));
}
Result<Neighbors> near_erdos_renyi(const Options& options, Sites sites, int vertex) {
  return both_ways(near_in_erdos_renyi(ids_of(sites), vertex, options.probability, options.seed));
}
// By the edges that name it.
Result<Neighbors> near_listed(const Options& options, Sites sites, int vertex) {
  const std::string& name = sites[static_cast<std::size_t>(vertex)].name;
  std::set<std::string_view> named;
  for (const auto& [a, b] : options.edges) {
    if (a == name) named.insert(b);
    if (b == name) named.insert(a);
  }
  std::vector<int> near;
  for (int k = 0; k < count(sites); ++k)
    if (named.contains(sites[static_cast<std::size_t>(k)].name)) near.push_back(k);
  return both_ways(std::move(near));
}
// For kinds without a rule of one vertex.
template <auto make>
Result<Neighbors> near_of_all(const Options& options, Sites sites, int vertex) {
  TRY(const Graph graph, make(options, sites));
  return Neighbors{graph.out[static_cast<std::size_t>(vertex)],
                   graph.in[static_cast<std::size_t>(vertex)]};
}

struct Row {
  Kind kind;
  Result<Graph> (*make)(const Options& options, Sites sites);
  Result<Neighbors> (*near)(const Options& options, Sites sites, int vertex);
};
constexpr Row kRows[] = {
    {Kind::ring, shaped<ring>, near_by<near_in_ring>},
    {Kind::path, shaped<path>, near_by<near_in_path>},
    {Kind::star, shaped<star>, near_by<near_in_star>},
    {Kind::torus, shaped<torus>, near_by<near_in_torus>},
    {Kind::grid, shaped<grid>, near_by<near_in_grid>},
    {Kind::complete, shaped<complete>, near_by<near_in_complete>},
    {Kind::hypercube, shaped<hypercube>, near_by<near_in_hypercube>},
    {Kind::exponential, shaped<exponential>, near_by<ahead_in_exponential, behind_in_exponential>},
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

void tidy(std::vector<int>& near, int vertex) {
  std::ranges::sort(near);
  const auto repeats = std::ranges::unique(near);
  near.erase(repeats.begin(), repeats.end());
  std::erase(near, vertex);
}

}  // namespace

Result<Graph> build(const Options& options, std::span<const Site> sites) {
  TRY(const Row* row, row_of(options, sites.size()));
  return row->make(options, sites);
}

Result<Neighbors> neighbors(const Options& options, std::span<const Site> sites, int vertex) {
  TRY(const Row* row, row_of(options, sites.size()));
  TRY(Neighbors near, row->near(options, sites, vertex));
  tidy(near.out, vertex);
  tidy(near.in, vertex);
  return near;
}

}  // namespace starling::topology
