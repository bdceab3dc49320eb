#include "topology/graph.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace starling::topology {
namespace {

using Adjacency = std::vector<std::vector<int>>;

void tidy(Adjacency& adjacency) {
  for (std::vector<int>& row : adjacency) {
    std::ranges::sort(row);
    const auto rest = std::ranges::unique(row);
    row.erase(rest.begin(), rest.end());
  }
}

// Breadth first: hops from `start` to the farthest vertex, or nothing if one is out of reach.
std::optional<int> eccentricity(const Adjacency& out, int start) {
  std::vector<int> hops(out.size(), -1);
  std::vector<int> queue{start};
  hops[start] = 0;
  for (std::size_t next = 0; next < queue.size(); ++next) {
    for (int neighbor : out[queue[next]]) {
      if (hops[neighbor] >= 0) continue;
      hops[neighbor] = hops[queue[next]] + 1;
      queue.push_back(neighbor);
    }
  }
  if (queue.size() < out.size()) return std::nullopt;
  return hops[queue.back()];
}

}  // namespace

std::size_t Graph::edge_count() const {
  std::size_t count = 0;
  for (const std::vector<int>& row : out) count += row.size();
  return is_directed() ? count : count / 2;
}

DegreeRange Graph::degrees() const {
  if (in.empty()) return {};
  DegreeRange range{std::numeric_limits<int>::max(), 0, 0};
  for (int vertex = 0; vertex < size(); ++vertex) {
    range.least = std::min(range.least, degree(vertex));
    range.most = std::max(range.most, degree(vertex));
    range.mean += degree(vertex);
  }
  range.mean /= size();
  return range;
}

bool Graph::is_connected() const {
  if (in.empty()) return true;
  // Strongly connected: the first vertex reaches all, and all reach it.
  return eccentricity(out, 0) && (!is_directed() || eccentricity(in, 0));
}

std::optional<int> Graph::diameter() const {
  int longest = 0;
  for (int vertex = 0; vertex < size(); ++vertex) {
    const std::optional<int> hops = eccentricity(out, vertex);
    if (!hops) return std::nullopt;
    longest = std::max(longest, *hops);
  }
  return longest;
}

Graph directed(int n, const Edges& edges) {
  ENSURE(n >= 0, "a graph has no negative number of vertices");
  Graph graph;
  graph.out.resize(static_cast<std::size_t>(n));
  graph.in.resize(static_cast<std::size_t>(n));
  for (auto [from, to] : edges) {
    ENSURE(from >= 0 && from < n && to >= 0 && to < n, "an edge joins vertices of its graph");
    if (from == to) continue;
    graph.out[from].push_back(to);
    graph.in[to].push_back(from);
  }
  tidy(graph.out);
  tidy(graph.in);
  return graph;
}

Graph undirected(int n, const Edges& edges) {
  Edges both(edges);
  both.reserve(2 * edges.size());
  for (auto [a, b] : edges) both.emplace_back(b, a);
  return directed(n, both);
}

}  // namespace starling::topology
