// Strategy: one decentralised algorithm, pure mathematics. It owns its vectors; the trainer calls
// it in the order local, offered, (mixing adds delta to the offered vector), absorbed, or
// with offered before local where the algorithm overlaps.
#pragma once

#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "optim/algorithms/registry.h"
#include "optim/local/local_step.h"
#include "optim/options.h"
#include "optim/vector/shared_vector.h"

namespace starling::optim {

template <class S>
class Flows;
template <class S>
class Duals;

template <class S>
class Strategy {
 public:
  virtual ~Strategy() = default;

  // x: what the node would predict with.
  virtual std::span<const S> model() const = 0;
  // The local step, or steps, of one round. False when one was refused, and step.refusal() says
  // why: x stays but for what an exact algorithm owes its neighbours, as without samples.
  virtual bool local(LocalStep<S>& step) = 0;
  // The vector neighbours average with; mixing replaces it by s + delta before absorbed(). It may
  // be longer than the model.
  virtual SharedVector<S>& offered() = 0;
  virtual void absorbed() = 0;
  // Starts over from x. REQUIRES x of the same dimension.
  virtual void adopt(std::span<const S> x) = 0;
  // Of the weights w_ij: W~ = (1 - share) I + share W is what it mixes with.
  virtual double share() const { return 1; }
  // Where what comes over each edge is counted, of the last numbers of the offered vector; null
  // where it is not.
  virtual Flows<S>* flows() { return nullptr; }
  // What of w_ij share (s_j - s_i) is counted as flow: the unit of the flows. The same at both ends
  // of a pair.
  virtual double flow_gain(const MixTerm&) const { return 1; }
  // Where each neighbour is told something else, by this: then nothing is mixed. Else null.
  virtual Duals<S>* duals() { return nullptr; }
  // What a newcomer takes over of it beside x, and how it goes on from that. As in LocalOptimizer.
  // What belongs to edges is not of it.
  virtual State<S> save() const { return {}; }
  virtual void load(const State<S>&) {}
};

// The algorithm of the options at the point x. REQUIRES that one is chosen.
template <class S>
std::unique_ptr<Strategy<S>> make_strategy(const Options& options, std::span<const S> x,
                                           std::shared_ptr<BufferPool> pool) {
  const StrategyMaker& make = options.algorithm->make;
  if constexpr (std::is_same_v<S, float>)
    return make.in_single(x, std::move(pool), options);
  else
    return make.in_double(x, std::move(pool), options);
}

}  // namespace starling::optim
