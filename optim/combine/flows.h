// Flows: what has come over each edge since it opened,
//   F_ij = sum over the pairs (s_i, s_j) averaged on it of c w_ij (s_j - s_i) ,
// c being the algorithm's share times its gain for the pair. Both ends compute the same numbers, to
// the last bit, with opposite signs, so the flows of a network always add up to zero. When an edge
// ends, both ends delete its flow: a crashed node leaves no trace at the others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "optim/combine/average.h"
#include "optim/vector/kernels.h"

namespace starling::optim {

// The gain of flows in units of the gradient: 1 / span, 0 without steps (edge_vectors.h).
inline double per_step(const MixTerm& term) {
  return term.span > 0 ? 1 / term.span : 0;
}

template <class S>
class Flows {
 public:
  // Every flow has `size` numbers.
  explicit Flows(std::size_t size) : size_(size) {}

  // Sets the edges; the flow of a new one starts at zero. Sums are taken in this order, so that
  // rounding does not depend on edge ids.
  void keep(std::span<const std::uint64_t> edges) {
    std::erase_if(flows_, [&](const auto& item) {
      return std::ranges::find(edges, item.first) == edges.end();
    });
    for (const std::uint64_t edge : edges)
      if (std::vector<S>& flow = flows_[edge]; flow.empty()) flow.resize(size_);
    order_.assign(edges.begin(), edges.end());
  }
  // The flow of each edge id, for State.
  std::map<std::uint64_t, std::vector<S>>& by_edge() { return flows_; }
  // factor F_ij for each edge, in the order of keep(). Valid until another function is called.
  std::span<const Scaled<S>> scaled(S factor = 1) {
    scaled_.clear();
    for (const std::uint64_t edge : order_) scaled_.push_back({factor, flows_.at(edge)});
    return scaled_;
  }

  // How far a pair moves s, and how the flow counts it. Both ends of an edge use the same.
  struct Shares {
    double share = 1;                          // factor on w_ij: W~ = (1 - share) I + share W
    double (*gain)(const MixTerm&) = nullptr;  // factor on the flow; null: 1
  };
  // Averages s with the terms, and adds what came over each kept edge to its flow, for the last
  // `size` numbers of s. The pair of an ended edge is averaged too, because the other end may have
  // averaged it before the edge ended; neither end still has a flow of that edge.
  MixResult absorb(Average<S>& s, std::span<const MixTerm> terms, const Shares& shares) {
    std::vector<MixTerm> shared(terms.begin(), terms.end());
    for (MixTerm& term : shared) term.weight *= shares.share;
    return s.absorb(shared, [&](const MixTerm& term) -> std::optional<FlowCount<S>> {
      const auto flow = flows_.find(term.edge);
      if (flow == flows_.end()) return std::nullopt;
      return {{flow->second, shares.gain ? term.weight * shares.gain(term) : term.weight}};
    });
  }

 private:
  std::size_t size_;
  std::map<std::uint64_t, std::vector<S>> flows_;
  std::vector<std::uint64_t> order_;
  std::vector<Scaled<S>> scaled_;
};

}  // namespace starling::optim
