#include "topology/build.h"

#include <algorithm>
#include <string_view>

#include "topology/hidden.h"
#include "topology/kinds.h"
#include "topology/sequence.h"

namespace starling::topology {
namespace {

// Sizes of auto: where the next sparser graph costs little agreement and saves much traffic.
constexpr std::size_t kCompleteNodesLimit = 4;
constexpr std::size_t kRingNodesLimit = 8;

// The row of the graph of n nodes.
Result<const KindRow*> row_for(const Options& options, std::size_t n) {
  if (const std::string_view problem = degree_problem(options); !problem.empty())
    return fail("topology.degree = {}: {}", options.degree, problem);
  return &row_of(resolve(options.kind, n));
}

std::vector<Vertex> vertices_of(std::span<const Site> sites) {
  std::vector<Vertex> vertices;
  for (const Site& site : sites) vertices.push_back({site.id, site.is_hidden});
  return vertices;
}

bool has_own_edges(const SequenceChoice& sequence) {
  return sequence.moves() && sequence.row->edges;
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

std::string graph_name(const Options& options, std::size_t n) {
  if (has_own_edges(options.sequence)) return to_string(options.sequence);
  return std::string(to_string(resolve(options.kind, n)));
}

bool is_directed(Kind kind) {
  return row_of(kind).is_directed;
}

bool is_directed(const Options& options) {
  return is_directed(options.kind) || (options.kind == Kind::file && !options.arcs.empty());
}

Result<Graph> build(const Options& options, std::span<const Site> sites) {
  if (has_own_edges(options.sequence)) {
    const Graph graph = options.sequence.row->edges(options, sites);
    return around_hidden(graph, vertices_of(sites), options.seed);
  }
  TRY(const KindRow* row, row_for(options, sites.size()));
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
  if (has_own_edges(options.sequence) || std::ranges::any_of(sites, &Site::is_hidden)) {
    TRY(const Graph graph, build(options, sites));
    return Neighbors{graph.out[vertex], graph.in[vertex]};
  }
  TRY(const KindRow* row, row_for(options, sites.size()));
  TRY(Neighbors near, row->near(options, sites, vertex));
  tidy(near.out, vertex);
  tidy(near.in, vertex);
  return near;
}

}  // namespace starling::topology
