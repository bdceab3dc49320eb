#include "topology/build.h"

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

Result<Graph> build(const Options& options, std::span<const Site> sites) {
  if (const std::string_view problem = degree_problem(options); !problem.empty())
    return fail("topology.degree = {}: {}", options.degree, problem);
  const int n = static_cast<int>(sites.size());
  const bool automatic = options.kind == Kind::automatic;
  switch (resolve(options.kind, sites.size())) {
    case Kind::automatic:
    case Kind::random:
      return hashed_rings(ids_of(sites), automatic ? kAutomaticDegree : options.degree,
                          options.seed);
    case Kind::ring:
      return ring(n);
    case Kind::path:
      return path(n);
    case Kind::star:
      return star(n);
    case Kind::torus:
      return torus(n);
    case Kind::grid:
      return grid(n);
    case Kind::complete:
      return complete(n);
    case Kind::hypercube:
      return hypercube(n);
    case Kind::exponential:
      return exponential(n);
    case Kind::random_regular:
      return random_regular(n, options.degree, options.seed);
    case Kind::erdos_renyi:
      return erdos_renyi(ids_of(sites), options.probability, options.seed);
    case Kind::small_world:
      return small_world(ids_of(sites), options.degree, options.probability, options.seed);
    case Kind::file:
      return listed(options.edges, sites);
  }
  return fail("topology.kind has no graph");
}

}  // namespace starling::topology
