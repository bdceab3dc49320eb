// Algorithm: one decentralised algorithm, pure mathematics. It owns its vectors and what it
// remembers of each edge. The trainer calls, once a round each:
//   follow, absorb, local, offer    or, where the algorithm overlaps,    follow, absorb, offer,
//   local
// An algorithm starts over from other parameters by being made anew. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "optim/algorithms/registry.h"
#include "optim/combine/mixer.h"
#include "optim/job.h"
#include "optim/local/learner.h"
#include "optim/options.h"

namespace starling::optim {

// What neighbours are sent, in the format of the run: all the same, or each its own.
struct Offer {
  Payload vector = {};
  std::vector<std::pair<std::uint64_t, Payload>> of_edge = {};  // by the life of the edge
};

template <class S>
class Algorithm {
 public:
  virtual ~Algorithm() = default;

  // x: what the node would predict with. Valid until another function is called.
  virtual std::span<const S> model() const = 0;
  // The lives of this node's edges from now on. What is remembered of any other edge is forgotten.
  virtual void follow(std::span<const std::uint64_t> edges) { static_cast<void>(edges); }
  // The local steps of one round. Where one was refused, and the report says why, x stays but for
  // what an exact algorithm owes its neighbours, as without samples. Their number may differ from
  // round to round and from node to node, unless the algorithm's row says why not.
  virtual Report local(Learner<S>& learner, std::size_t steps, double learning_rate) = 0;
  virtual Offer offer() = 0;
  // Takes in what neighbours sent. REQUIRES that there was an offer, and the terms as job.h has
  // them, each with its `own` where all neighbours are offered the same; those of an edge that is
  // not followed are passed over where edges are remembered.
  virtual MixResult absorb(std::span<const MixTerm> terms) = 0;
  // What is remembered beside x between absorb() and local(). What belongs to edges is for the node
  // itself.
  virtual State<S> state() { return {}; }
};

// The algorithm of the options at the point x. REQUIRES that one is chosen.
template <class S>
std::unique_ptr<Algorithm<S>> make_algorithm(const Options& options, std::span<const S> x,
                                             std::shared_ptr<BufferPool> pool) {
  const AlgorithmMaker& make = options.algorithm->make;
  if constexpr (std::is_same_v<S, float>)
    return make.in_single(x, std::move(pool), options);
  else
    return make.in_double(x, std::move(pool), options);
}

}  // namespace starling::optim
