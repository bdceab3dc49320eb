// Flows: what has come over each edge since it opened,
//   F_ij = sum over the pairs (s_i, s_j) averaged on it of c w_ij (s_j - s_i) ,
// c being the algorithm's share times its gain for the pair. Both ends compute the same numbers but
// for the sign, which floating point keeps, so the flows of a network always add up to nothing.
// When an edge ends, both ends forget its flow: whoever crashed leaves nothing behind with the
// others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "optim/vector/kernels.h"

namespace starling::optim {

template <class S>
class Flows {
 public:
  // Each of `size` numbers.
  explicit Flows(std::size_t size) : size_(size) {}

  // These are the edges from now on; a new one starts at zero.
  void keep(std::span<const std::uint64_t> edges) {
    std::erase_if(flows_, [&](const auto& item) {
      return std::ranges::find(edges, item.first) == edges.end();
    });
    for (const std::uint64_t edge : edges)
      if (std::vector<S>& flow = flows_[edge]; flow.empty()) flow.resize(size_);
  }
  void clear() { flows_.clear(); }

  // Empty for an edge that is not kept.
  std::span<S> of(std::uint64_t edge) {
    const auto found = flows_.find(edge);
    return found == flows_.end() ? std::span<S>() : std::span<S>(found->second);
  }
  // v += factor sum_j F_ij. REQUIRES v of their size.
  void add_to(std::span<S> v, S factor = 1) const {
    for (const auto& [edge, flow] : flows_) axpy(factor, std::span<const S>(flow), v);
  }

 private:
  std::size_t size_;
  std::map<std::uint64_t, std::vector<S>> flows_;
};

}  // namespace starling::optim
