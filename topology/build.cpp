#include "topology/build.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "topology/drawn.h"
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

struct Row {
  Kind kind;
  Result<Graph> (*make)(const Options& options, Sites sites);
};
constexpr Row kRows[] = {{Kind::ring, shaped<ring>},
                         {Kind::path, shaped<path>},
                         {Kind::star, shaped<star>},
                         {Kind::torus, shaped<torus>},
                         {Kind::grid, shaped<grid>},
                         {Kind::complete, shaped<complete>},
                         {Kind::hypercube, shaped<hypercube>},
                         {Kind::exponential, shaped<exponential>},
                         {Kind::random, make_random},
                         {Kind::random_regular, make_random_regular},
                         {Kind::erdos_renyi, make_erdos_renyi},
                         {Kind::small_world, make_small_world},
                         {Kind::file, make_listed}};

}  // namespace

Result<Graph> build(const Options& options, std::span<const Site> sites) {
  if (const std::string_view problem = degree_problem(options); !problem.empty())
    return fail("topology.degree = {}: {}", options.degree, problem);
  const auto row = std::ranges::find(kRows, resolve(options.kind, sites.size()), &Row::kind);
  if (row == std::end(kRows)) return fail("topology.kind has no graph");
  return row->make(options, sites);
}

}  // namespace starling::topology
