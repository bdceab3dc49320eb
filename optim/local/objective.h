// Objective: the local function F_i of a node, its gradients and its data. The local learner owns
// one and is the only caller; nothing here is thread safe, and one call uses one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "optim/evaluation.h"
#include "optim/local/blocks.h"
#include "optim/local/local_data.h"
#include "optim/state.h"

namespace starling::optim {

template <class S>  // float or double
class LocalFunction {
 public:
  virtual ~LocalFunction() = default;

  // As Learner::blocks().
  virtual std::span<const ParameterBlock> blocks() const = 0;
  std::size_t dimension() const { return dimension_of(blocks()); }
  virtual std::size_t samples() const = 0;  // held by this node now; may be 0

  // The same x for the same seed on every node. REQUIRES x.size() == dimension().
  virtual void initialize(std::span<S> x, std::uint64_t seed) const = 0;
  // Mean loss over the batch (l2 term included) and its gradient, which is overwritten. `batch`
  // holds indices below samples(); empty means all samples. REQUIRES samples() > 0.
  virtual double loss_and_gradient(std::span<const S> x, std::span<const std::uint32_t> batch,
                                   std::span<S> gradient) = 0;
  // x = argmin F_i(x) + <c, x> + (mu / 2) ||x||^2 over all own samples. False, with x unchanged, if
  // there is no closed form or the minimum is not unique. REQUIRES samples() > 0.
  virtual bool minimize(std::span<const S> c, double mu, std::span<S> x) {
    static_cast<void>(c), static_cast<void>(mu), static_cast<void>(x);
    return false;
  }
  // As Learner::evaluate().
  virtual Evaluation evaluate(std::span<const S> x, std::size_t limit) = 0;
};

// How gradients of single samples are bounded before they are added up.
struct Clip {
  double bound = 0;    // of the norm of each, C
  double divisor = 1;  // of their sum
};

template <class S>
class Objective : public LocalFunction<S>, public LocalData {
 public:
  // Writes 1 / divisor sum over the batch of g_i min(1, C / ||g_i||), and the gradient of terms
  // that do not depend on samples (l2). g_i is the gradient of sample i alone, without these; one
  // that is not finite counts as zero. An empty batch is none of the samples. Returns the largest
  // norm that the part of one sample may have in what is written, up to rounding; 0, with nothing
  // written: it cannot clip. REQUIRES samples() > 0.
  virtual double clipped_gradient(std::span<const S> x, std::span<const std::uint32_t> batch,
                                  const Clip& clip, std::span<S> gradient) {
    static_cast<void>(x), static_cast<void>(batch), static_cast<void>(clip);
    static_cast<void>(gradient);
    return 0;
  }
  // What its next step or its model depends on beside x; see Learner::state().
  virtual State<S> state() { return {}; }
};

}  // namespace starling::optim
