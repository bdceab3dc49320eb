// Learner: what this node learns by itself, as the algorithms and the trainer see it: parameters x
// in blocks, and steps that lead from x to where the node's own loss F_i is less. LocalLearner
// takes them by gradients in this process (local_learner.h); anything else that can move a vector
// of numbers may stand in its place. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "optim/job.h"
#include "optim/local/blocks.h"
#include "optim/state.h"
#include "optim/vector/kernels.h"

namespace starling::optim {

// What an algorithm asks for in one round: from x_1 = x, for k = 1 .. count,
//   g_k = gradient of F(x_k) + <c, x_k> + (mu / 2) ||x_k - v||^2  on a batch
//   d_k = g_k + added
//   u_k = the local optimizer's step for d_k, or -gamma d_k where is_plain
//   x_{k+1} = x_k + u_k + gamma correction ,
// c being `linear`, v `anchor` and gamma `learning_rate`, or that of the learner's own steps where
// it sets one (Report::learning_rate). Vectors are of the dimension, or empty for zero; they are
// the caller's, and outlive the call.
template <class S>
struct LocalSteps {
  std::size_t count = 1;
  double learning_rate = 0;
  std::span<const S> linear = {}, anchor = {};
  double mu = 0;
  std::span<const Scaled<S>> added = {};       // their sum
  std::span<const Scaled<S>> correction = {};  // their sum; no step is refused for it
  bool is_plain = false;
  // Where F with its terms has a minimum in closed form, over all samples, that is x_{count+1}.
  bool is_exact = false;
  // A step that is refused counts as u_k = 0, and a gradient as g_k = 0, and the steps behind it
  // are taken; else it is the last, and x_{count+1} is where it was to begin.
  bool goes_on = false;
};

// Where the numbers go that the caller wants: of the dimension, or empty. None overlaps another or
// x, but `end` may be x.
template <class S>
struct Moves {
  std::span<S> end = {};        // x_{count+1}
  std::span<S> sum = {};        // of all x_{k+1} - x_k
  std::span<S> direction = {};  // the mean of all d_k
};

struct Report {
  // Of the last gradient: the loss of its batch, ||g_k||, and the samples in it. 0 without samples.
  double loss = 0, gradient_norm = 0;
  std::size_t batch_samples = 0;
  // Not empty: a step was refused, the last time for this reason.
  std::string refusal = {};
  bool is_idle = false;          // no step was taken, for want of somebody who takes them
  bool is_cured_by_rate = true;  // where it was refused: a smaller learning rate may help
  // Of each of the steps, where it is not that which was asked for.
  std::optional<double> learning_rate = {};
};

template <class S>  // float or double
class Learner {
 public:
  virtual ~Learner() = default;

  // In the order in which they lie in x, without gaps. Empty until the model is founded
  // (local_data.h); all else REQUIRES that it is. Valid as long as the foundation.
  virtual std::span<const ParameterBlock> blocks() const = 0;
  std::size_t dimension() const { return dimension_of(blocks()); }

  // The same x for the same seed on every node.
  virtual void initialize(std::span<S> x, std::uint64_t seed) const = 0;
  // Takes the steps. One that would do harm is refused, with no trace but in the report and in what
  // was drawn. Without samples F is zero, and without terms, added vectors or a direction to give
  // there is nothing to step from: u_k = 0. REQUIRES with is_exact: `end`, and no `sum`.
  virtual Report advance(std::span<const S> x, const LocalSteps<S>& steps, const Moves<S>& to) = 0;
  // On the held-out set, or on the node's own samples where there is none; `limit` samples at
  // most, 0 for all.
  virtual Evaluation evaluate(std::span<const S> x, std::size_t limit) = 0;

  // What is remembered from step to step beside x, for that heir.
  virtual State<S> state(Heir heir) {
    static_cast<void>(heir);
    return {};
  }
  // Goes on from other parameters, as an heir of the node that had them: state() is as it was at
  // first but for the opaque part, which is that node's, and the steps before are no measure for
  // those to come. `opaque` is outside data; empty: there is none.
  virtual void restart(const Payload& opaque, Heir heir) {
    static_cast<void>(opaque);
    static_cast<void>(heir);
  }
};

}  // namespace starling::optim
