#include "topology/hidden.h"

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "base/prng.h"

namespace starling::topology {
namespace {

using Vertices = std::span<const Vertex>;

constexpr std::size_t kDialledNeighbors = 2;  // of a hidden node, where there are as many
constexpr std::uint64_t kHiddenSalt = 0x6869646465;

// An edge of two hidden vertices, or one hidden vertex twice, and where it stands in the ring.
struct Want {
  std::uint64_t place;
  int a, b;

  auto operator<=>(const Want&) const = default;
};

std::uint64_t place_of(const Vertex& vertex, std::uint64_t seed) {
  return mix64(vertex.id.value ^ mix64(seed ^ kHiddenSalt));
}

Want want_of(Vertices vertices, int a, int b, std::uint64_t seed) {
  const std::uint64_t first = place_of(vertices[a], seed), second = place_of(vertices[b], seed);
  return {mix64(std::min(first, second) ^ mix64(std::max(first, second))), a, b};
}

// The vertices that can be dialled, in the order of their hashes.
class DialledRing {
 public:
  // As many edges are to be taken.
  DialledRing(Vertices vertices, std::uint64_t seed, std::size_t edges) {
    for (int k = 0; k < static_cast<int>(vertices.size()); ++k)
      if (!vertices[k].is_hidden) places_.push_back({place_of(vertices[k], seed), k});
    std::ranges::sort(places_);
    if (!places_.empty()) limit_ = (5 * edges + 4 * places_.size() - 1) / (4 * places_.size());
    taken_.resize(places_.size());
  }

  bool empty() const { return places_.empty(); }

  // The next vertex that may take the edge; -1: none.
  int take(std::uint64_t place, const std::function<bool(int)>& may) {
    const auto begin = std::ranges::lower_bound(places_, std::pair(place, 0)) - places_.begin();
    for (const bool is_limited : {true, false})
      for (std::size_t k = 0; k < places_.size(); ++k) {
        const std::size_t at = (static_cast<std::size_t>(begin) + k) % places_.size();
        if ((is_limited && taken_[at] >= limit_) || !may(places_[at].second)) continue;
        ++taken_[at];
        return places_[at].second;
      }
    return -1;
  }

 private:
  std::vector<std::pair<std::uint64_t, int>> places_;
  std::vector<std::size_t> taken_;
  std::size_t limit_ = 0;
};

// Each edge of two hidden vertices leads over one that can be dialled.
Graph detour(const Graph& graph, Vertices vertices, std::uint64_t seed) {
  Edges edges;
  std::vector<Want> wants;
  for (int i = 0; i < graph.size(); ++i)
    for (const int j : graph.out[i]) {
      if (!vertices[i].is_hidden || !vertices[j].is_hidden)
        edges.emplace_back(i, j);
      else if (i < j || !std::ranges::binary_search(graph.out[j], i))
        wants.push_back(want_of(vertices, i, j, seed));
    }
  std::ranges::sort(wants);
  DialledRing ring(vertices, seed, wants.size());
  for (const Want& want : wants) {
    const int over = ring.take(want.place, [](int) { return true; });
    if (over < 0) continue;
    edges.emplace_back(want.a, over);
    edges.emplace_back(want.b, over);
  }
  return undirected(graph.size(), edges);
}

// Hidden vertices get neighbours that can be dialled.
Graph widened(const Graph& graph, Vertices vertices, std::uint64_t seed) {
  std::vector<Want> wants;
  Edges edges;
  for (int i = 0; i < graph.size(); ++i) {
    for (const int j : graph.out[i]) edges.emplace_back(i, j);
    if (!vertices[i].is_hidden) continue;
    for (std::size_t k = graph.out[i].size(); k < kDialledNeighbors; ++k)
      wants.push_back(want_of(vertices, i, i, seed));
  }
  std::ranges::sort(wants);
  DialledRing ring(vertices, seed, wants.size());
  std::vector<std::vector<int>> more(vertices.size());
  for (const Want& want : wants) {
    const std::vector<int>&known = graph.out[want.a], &added = more[want.a];
    const int next = ring.take(want.place, [&](int vertex) {
      return std::ranges::find(known, vertex) == known.end() &&
             std::ranges::find(added, vertex) == added.end();
    });
    if (next < 0) continue;
    more[want.a].push_back(next);
    edges.emplace_back(want.a, next);
  }
  return undirected(graph.size(), edges);
}

}  // namespace

Graph around_hidden(const Graph& graph, std::span<const Vertex> vertices, std::uint64_t seed) {
  ENSURE(vertices.size() == graph.out.size(), "every vertex is said to be hidden or not");
  if (std::ranges::none_of(vertices, &Vertex::is_hidden)) return graph;
  return widened(detour(graph, vertices, seed), vertices, seed);
}

}  // namespace starling::topology
