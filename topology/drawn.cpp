#include "topology/drawn.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/prng.h"
#include "topology/shapes.h"

namespace starling::topology {
namespace {

// The object of a draw, so that two draws about the same ids are independent.
enum class Purpose : std::uint64_t { ring = 1, edge, rewire, target, swap };

std::uint64_t salt(std::uint64_t seed, Purpose purpose, int index = 0) {
  return mix64(mix64(mix64(seed) ^ static_cast<std::uint64_t>(purpose)) ^
               static_cast<std::uint64_t>(index));
}

std::uint64_t hash(NodeId id, std::uint64_t salt) {
  return mix64(id.value ^ salt);
}

std::uint64_t hash(NodeId from, NodeId to, std::uint64_t salt) {
  return mix64(hash(from, salt) ^ to.value);
}

double unit(std::uint64_t hash) {
  return static_cast<double>(hash >> 11) * 0x1.0p-53;
}

// mix64 is one to one, so different ids have different hashes and the order is never a tie.
void add_hashed_ring(std::span<const NodeId> ids, std::uint64_t salt, Edges& edges) {
  std::vector<int> order(ids.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int vertex) { return hash(ids[vertex], salt); });
  for (std::size_t k = 0; k < order.size(); ++k)
    edges.emplace_back(order[k], order[(k + 1) % order.size()]);
}

// The two beside the vertex in the ring: the next lower and the next higher hash, around the end.
void add_beside(std::span<const NodeId> ids, int vertex, std::uint64_t salt,
                std::vector<int>& near) {
  const std::uint64_t own = hash(ids[vertex], salt);
  // The way up from the vertex's hash to another's, modulo 2^64: the least leads to the next, the
  // largest to the one before.
  const auto ahead = [&](int other) { return hash(ids[other], salt) - own; };
  int next = -1, before = -1;
  for (int other = 0; other < static_cast<int>(ids.size()); ++other) {
    if (other == vertex) continue;
    if (next < 0 || ahead(other) < ahead(next)) next = other;
    if (before < 0 || ahead(other) > ahead(before)) before = other;
  }
  if (next >= 0) near.insert(near.end(), {next, before});
}

bool is_joined(NodeId a, NodeId b, double probability, std::uint64_t coin) {
  const auto [low, high] = std::minmax(a, b);
  return unit(hash(low, high, coin)) < probability;
}

// The vertex other than i whose hash with i is least. A join changes it with probability 1/n.
int random_other(int i, std::span<const NodeId> ids, std::uint64_t salt) {
  int best = i == 0 ? 1 : 0;
  for (int j = best + 1; j < static_cast<int>(ids.size()); ++j)
    if (j != i && hash(ids[i], ids[j], salt) < hash(ids[i], ids[best], salt)) best = j;
  return best;
}

constexpr int kSwapsPerEdge = 10;
constexpr int kSwapRoundsLimit = 1000;

// The edges of a simple graph under degree-preserving swaps.
class Swapper {
 public:
  Swapper(const Graph& graph, Prng prng) : n_(graph.size()), prng_(prng) {
    for (int i = 0; i < n_; ++i)
      for (int j : graph.out[i])
        if (i < j) edges_.emplace_back(i, j);
    near_ = graph.out;
  }

  std::size_t edge_count() const { return edges_.size(); }
  Graph graph() const { return undirected(n_, edges_); }

  void swap(std::size_t times) {
    for (std::size_t k = 0; k < times; ++k) try_swap();
  }

 private:
  void try_swap() {
    auto& first = edges_[prng_.below(edges_.size())];
    auto& second = edges_[prng_.below(edges_.size())];
    auto [a, b] = first;
    auto [c, d] = second;
    if (prng_.chance(0.5)) std::swap(c, d);
    if (a == d || c == b || are_joined(a, d) || are_joined(c, b)) return;
    replace(a, b, d), replace(b, a, c), replace(c, d, b), replace(d, c, a);
    first = std::minmax(a, d), second = std::minmax(c, b);
  }
  bool are_joined(int a, int b) const { return std::ranges::count(near_[a], b) > 0; }
  // Among the neighbours of a.
  void replace(int a, int old_one, int new_one) {
    std::ranges::replace(near_[a], old_one, new_one);
  }

  int n_;
  Prng prng_;
  Edges edges_;
  std::vector<std::vector<int>> near_;  // neighbours; few, so linear search is quick
};

// The regular graph everything starts from: hops 1 .. degree/2, and n/2 when the degree is odd.
Graph regular_start(int n, int degree) {
  std::vector<int> hops(static_cast<std::size_t>(degree / 2));
  std::iota(hops.begin(), hops.end(), 1);
  if (degree % 2 != 0) hops.push_back(n / 2);
  return circulant(n, hops);
}

}  // namespace

std::vector<int> near_in_hashed_rings(std::span<const NodeId> ids, int vertex, int degree,
                                      std::uint64_t seed) {
  std::vector<int> near;
  for (int ring = 0; ring < degree / 2; ++ring)
    add_beside(ids, vertex, salt(seed, Purpose::ring, ring), near);
  return near;
}

std::vector<int> near_in_erdos_renyi(std::span<const NodeId> ids, int vertex, double probability,
                                     std::uint64_t seed) {
  std::vector<int> near;
  for (int other = 0; other < static_cast<int>(ids.size()); ++other)
    if (other != vertex &&
        is_joined(ids[vertex], ids[other], probability, salt(seed, Purpose::edge)))
      near.push_back(other);
  add_beside(ids, vertex, salt(seed, Purpose::ring), near);
  return near;
}

Graph hashed_rings(std::span<const NodeId> ids, int degree, std::uint64_t seed) {
  ENSURE(degree % 2 == 0, "rings add two to the degree");
  Edges edges;
  for (int ring = 0; ring < degree / 2; ++ring)
    add_hashed_ring(ids, salt(seed, Purpose::ring, ring), edges);
  return undirected(static_cast<int>(ids.size()), edges);
}

Graph erdos_renyi(std::span<const NodeId> ids, double probability, std::uint64_t seed) {
  const int n = static_cast<int>(ids.size());
  const std::uint64_t coin = salt(seed, Purpose::edge);
  Edges edges;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < i; ++j)
      if (is_joined(ids[i], ids[j], probability, coin)) edges.emplace_back(i, j);
  add_hashed_ring(ids, salt(seed, Purpose::ring), edges);
  return undirected(n, edges);
}

Graph small_world(std::span<const NodeId> ids, int degree, double probability, std::uint64_t seed) {
  ENSURE(degree % 2 == 0, "half of the degree lies ahead");
  const int n = static_cast<int>(ids.size());
  if (n < 2) return undirected(n, {});
  Edges edges;
  for (int hop = 1; hop <= degree / 2; ++hop) {
    const std::uint64_t coin = salt(seed, Purpose::rewire, hop);
    const std::uint64_t draw = salt(seed, Purpose::target, hop);
    for (int i = 0; i < n; ++i) {
      const bool far = hop > 1 && unit(hash(ids[i], coin)) < probability;
      edges.emplace_back(i, far ? random_other(i, ids, draw) : (i + hop) % n);
    }
  }
  return undirected(n, edges);
}

Graph random_regular(int n, int degree, std::uint64_t seed) {
  degree = std::min(degree, n - 1);
  if (n % 2 != 0 && degree % 2 != 0) --degree;
  if (degree < 1) return undirected(n, {});
  const Graph start = regular_start(n, degree);
  Swapper swapper(start, Prng(salt(seed, Purpose::swap)));
  swapper.swap(kSwapsPerEdge * swapper.edge_count());
  for (int round = 0; round < kSwapRoundsLimit; ++round) {
    if (Graph graph = swapper.graph(); graph.is_connected()) return graph;
    swapper.swap(swapper.edge_count());
  }
  return start;
}

}  // namespace starling::topology
