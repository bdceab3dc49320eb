// Strategy: one decentralised algorithm, pure mathematics. It owns its vectors; the trainer calls
// it in the order local, offered, (mixing adds delta to the offered vector), absorbed, or
// with offered before local where the algorithm overlaps.
#pragma once

#include <memory>
#include <span>

#include "optim/local_step.h"
#include "optim/options.h"
#include "optim/shared_vector.h"

namespace starling::optim {

template <class S>
class Strategy {
 public:
  virtual ~Strategy() = default;

  // x: what the node would predict with.
  virtual std::span<const S> model() const = 0;
  // The local step, or steps, of one round. False when a gradient was not finite: x stays.
  virtual bool local(LocalStep<S>& step) = 0;
  // The vector neighbours average with; mixing replaces it by s + delta before absorbed().
  virtual SharedVector<S>& offered() = 0;
  virtual void absorbed() = 0;
  // Starts over from x. REQUIRES x of the same dimension.
  virtual void adopt(std::span<const S> x) = 0;
  // What it remembers between two rounds beside x, and to go on from that. As in LocalOptimizer.
  virtual State<S> save() const { return {}; }
  virtual void load(const State<S>&) {}
};

template <class S>
std::unique_ptr<Strategy<S>> make_strategy(const Options& options, std::span<const S> x,
                                           std::shared_ptr<BufferPool> pool);

}  // namespace starling::optim
