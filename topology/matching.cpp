#include "topology/matching.h"

#include <cstddef>
#include <numeric>
#include <utility>

#include "base/prng.h"

namespace starling::topology {
namespace {

// Each round draws from a range of numbers of its own, a multiple of this long.
constexpr std::uint64_t kStrideUnit = 64;

std::vector<int> drawn_order(std::size_t n, std::uint64_t seed, std::uint64_t t) {
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  const std::uint64_t stride = kStrideUnit * ((n + kStrideUnit - 1) / kStrideUnit);
  for (std::size_t k = n; k-- > 1;)
    std::swap(order[k], order[mix64((seed << 32) + t * stride + k) % (k + 1)]);
  return order;
}

}  // namespace

std::vector<int> matching(const Graph& graph, std::uint64_t seed, std::uint64_t t, int most) {
  const std::vector<int> order = drawn_order(graph.in.size(), seed, t);
  std::vector<std::size_t> place(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) place[order[k]] = k;
  std::vector<int> partner(order.size(), -1);
  for (const int vertex : order) {
    if (most == 0) break;
    if (partner[vertex] >= 0) continue;
    int first = -1;
    for (const int other : graph.in[vertex])
      if (partner[other] < 0 && (first < 0 || place[other] < place[first])) first = other;
    if (first < 0) continue;
    partner[vertex] = first;
    partner[first] = vertex;
    --most;
  }
  return partner;
}

}  // namespace starling::topology
