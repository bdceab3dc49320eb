#include "topology/kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "topology/drawn.h"
#include "topology/shapes.h"

namespace starling::topology {
namespace {

using Sites = std::span<const Site>;

std::vector<NodeId> ids_of(Sites sites) {
  std::vector<NodeId> ids;
  for (const Site& site : sites) ids.push_back(site.id);
  return ids;
}

int count(Sites sites) {
  return static_cast<int>(sites.size());
}

// For random, which auto may stand for.
int ring_degree(const Options& options) {
  constexpr int kAutomaticDegree = 4;
  return options.kind == Kind::automatic ? kAutomaticDegree : options.degree;
}

// ---- the graph

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
  const auto add = [&](const std::string& a, const std::string& b) {
    const auto first = vertex.find(a), second = vertex.find(b);
    if (first != vertex.end() && second != vertex.end())
      edges.emplace_back(first->second, second->second);
  };
  for (const auto& [a, b] : options.edges) add(a, b), add(b, a);
  for (const auto& [a, b] : options.arcs) add(a, b);
  return directed(count(sites), edges);
}

// ---- the neighbours of one vertex

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
  std::set<std::string_view> to, from;
  const auto add = [&](const std::string& a, const std::string& b) {
    if (a == name) to.insert(b);
    if (b == name) from.insert(a);
  };
  for (const auto& [a, b] : options.edges) add(a, b), add(b, a);
  for (const auto& [a, b] : options.arcs) add(a, b);
  Neighbors near;
  for (int k = 0; k < count(sites); ++k) {
    if (to.contains(sites[k].name)) near.out.push_back(k);
    if (from.contains(sites[k].name)) near.in.push_back(k);
  }
  return near;
}
// For kinds that need the whole graph.
template <auto make>
Result<Neighbors> near_of_all(const Options& options, Sites sites, int vertex) {
  TRY(const Graph graph, make(options, sites));
  return Neighbors{graph.out[vertex], graph.in[vertex]};
}

// ---- what fits

// With fewer nodes the shape is another, simpler kind.
std::string needs_four(std::size_t n) {
  return n < 4 ? "needs at least 4 nodes" : "";
}
std::string needs_power_of_two(std::size_t n) {
  return std::has_single_bit(n) ? "" : "needs a power of two as number of nodes";
}

double all_pairs(const Options&) {
  return 1;
}
double drawn_pairs(const Options& options) {
  return options.probability;
}

// A kind whose graph depends on the number of nodes alone.
template <auto rule>
constexpr KindRow shape(Kind kind, std::string_view name,
                        std::string (*size_problem)(std::size_t) = nullptr,
                        double (*density)(const Options&) = nullptr) {
  return {.kind = kind,
          .name = name,
          .make = shaped<rule>,
          .near = near_by<rule>,
          .size_problem = size_problem,
          .density = density};
}

constexpr KindRow kKindRows[] = {
    {.kind = Kind::automatic, .name = "auto"},
    shape<near_in_ring>(Kind::ring, "ring"),
    shape<near_in_path>(Kind::path, "path"),
    shape<near_in_star>(Kind::star, "star"),
    shape<near_in_torus>(Kind::torus, "torus", needs_four),
    shape<near_in_grid>(Kind::grid, "grid", needs_four),
    shape<near_in_complete>(Kind::complete, "complete", nullptr, all_pairs),
    shape<near_in_hypercube>(Kind::hypercube, "hypercube", needs_power_of_two),
    {.kind = Kind::exponential,
     .name = "exponential",
     .make = shaped<ahead_in_exponential, directed_by>,
     .near = near_by<ahead_in_exponential, behind_in_exponential>,
     .is_directed = true},
    {.kind = Kind::random,
     .name = "random",
     .make = make_random,
     .near = near_random,
     .degree = {.least = 2,
                .is_even = true,
                .problem =
                    "topology.kind random is made of rings; expected an even number from 2"}},
    {.kind = Kind::random_regular,
     .name = "random-regular",
     .make = make_random_regular,
     .near = near_of_all<make_random_regular>,
     .degree = {.least = 2,
                .is_below_nodes = true,
                .is_everywhere = true,
                .problem = "a graph of degree 1 is not connected; expected a number from 2"}},
    {.kind = Kind::erdos_renyi,
     .name = "erdos-renyi",
     .make = make_erdos_renyi,
     .near = near_erdos_renyi,
     .density = drawn_pairs},
    {.kind = Kind::small_world,
     .name = "small-world",
     .make = make_small_world,
     .near = near_of_all<make_small_world>,
     .degree = {.least = 4,
                .is_even = true,
                .is_below_nodes = true,
                .problem = "topology.kind small-world keeps a ring and rewires the rest; expected "
                           "an even number from 4"}},
    {.kind = Kind::file, .name = "file", .make = make_listed, .near = near_listed},
};

constexpr bool are_in_order() {
  for (std::size_t k = 0; k < std::size(kKindRows); ++k)
    if (kKindRows[k].kind != static_cast<Kind>(k)) return false;
  return true;
}
static_assert(are_in_order());

}  // namespace

std::span<const KindRow> kinds() {
  return kKindRows;
}

const KindRow& row_of(Kind kind) {
  return kKindRows[static_cast<std::size_t>(kind)];
}

}  // namespace starling::topology
