// Algorithm: one decentralised algorithm, pure mathematics. It owns its vectors and what it
// remembers of each edge. The trainer calls, once a round each:
//   follow, absorb, local, offer    or, where the algorithm overlaps,    follow, absorb, offer,
//   local
// and where a node answers within a round, follow, absorb and offer once more.
// To start over from other parameters, make a new algorithm. One thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "optim/algorithms/registry.h"
#include "optim/combine/average.h"
#include "optim/local/learner.h"
#include "optim/options.h"

namespace starling::optim {

// The local steps of one round.
struct RoundSteps {
  std::size_t count = 1;
  double learning_rate = 0;
  // w of this node, which minimises w F_i by steps for F_i alone. An exact algorithm adds 1 / w of
  // its corrections to each of them, and counts w times the gradient in what it tracks, so that the
  // limit is the optimum of the sum of all w F_i. Others ignore it.
  double weight = 1;
};

template <class S>
class Algorithm {
 public:
  virtual ~Algorithm() = default;

  // x: the parameters to predict with. Valid until another function is called.
  virtual std::span<const S> model() const = 0;
  // Sets the ids of this node's edges. The state of any other edge is dropped; of those that are
  // ending only what their last pairs need stays.
  virtual void follow(const EdgeIds& ids) = 0;
  // The local steps of one round. If a step is refused, x changes only by the algorithm's
  // correction, as on a node without samples; the report says why. The number of steps may differ
  // by round and by node, unless the algorithm's row refuses that.
  virtual Report local(Learner<S>& learner, const RoundSteps& steps) = 0;
  // `to`: the edges that get a vector, with Needs::in_order or Needs::sums.
  virtual Offer offer(std::span<const EdgePlace> to) = 0;
  // Takes in the neighbours' vectors. REQUIRES an earlier offer, and terms (MixTerm), each with
  // its `own` if all neighbours are offered the same. An algorithm that remembers edges ignores the
  // terms of other edges.
  // `ends_round`: the round waits for no more of them.
  virtual MixResult absorb(std::span<const MixTerm> terms, bool ends_round) = 0;
  // The state besides x between absorb() and local(). The state of edges is for the node itself
  // only.
  virtual State<S> state() { return {}; }
};

// The algorithm of the options at the point x, a model of these segments; none: of one. REQUIRES
// that an algorithm is chosen.
template <class S>
std::unique_ptr<Algorithm<S>> make_algorithm(const Options& options, std::span<const S> x,
                                             std::shared_ptr<BufferPool> pool,
                                             std::vector<Segment> segments = {}) {
  if (segments.empty()) segments = {{x.size()}};
  WireForm form = options.codec;
  form.segments = std::move(segments);
  Options shared = options;
  shared.aggregation.slicing.share = options.algorithm->needs.mixing_share;
  const AlgorithmMaker& make = options.algorithm->make;
  if constexpr (std::is_same_v<S, float>)
    return make.in_single(x, std::move(pool), shared, form);
  else
    return make.in_double(x, std::move(pool), shared, form);
}

}  // namespace starling::optim
