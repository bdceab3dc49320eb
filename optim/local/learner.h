// Learner: the local learning of a node, as seen by the algorithms and the trainer: parameters x in
// blocks, and steps that lower the node's own loss F_i. LocalLearner takes them by gradients in
// this process (local_learner.h); anything else that moves a vector of numbers may replace it. One
// thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "optim/local/blocks.h"
#include "optim/state.h"
#include "optim/vector/buffer_pool.h"
#include "optim/vector/kernels.h"
#include "optim/workload.h"

namespace starling::optim {

// The steps that an algorithm requests in one round: from x_1 = x, for k = 1 .. count,
//   g_k = gradient of F(x_k) + <c, x_k> + (mu / 2) ||x_k - v||^2  on a batch
//   d_k = g_k + added
//   u_k = the local optimizer's step for d_k, or -gamma d_k where is_plain
//   x_{k+1} = x_k + u_k + gamma correction ,
// where c is `linear`, v `anchor` and gamma `learning_rate`, unless the learner sets its own
// (Report::learning_rate). Vectors are of the dimension, or empty for zero; they outlive the call.
template <class S>
struct LocalSteps {
  std::size_t count = 1;
  double learning_rate = 0;
  std::span<const S> linear = {}, anchor = {};
  double mu = 0;
  std::span<const Scaled<S>> added = {};       // their sum
  std::span<const Scaled<S>> correction = {};  // their sum; no step is refused for it
  bool is_plain = false;
  // If F with its terms has a closed-form minimum over all samples, x_{count+1} is that minimum.
  bool is_exact = false;
  // A refused step is left out, with its correction (left_out.h), and the steps after it are taken;
  // if not set, a refusal ends the steps, and x_{count+1} is the x_k before it.
  bool goes_on = false;
};

// The outputs that the caller wants, of the dimension; others empty. None overlaps another or x,
// but `end` may be x.
template <class S>
struct Moves {
  std::span<S> end = {};        // x_{count+1}
  std::span<S> sum = {};        // of all x_{k+1} - x_k
  std::span<S> direction = {};  // the sum of all d_k over `count`
};

struct Report {
  // Of the last gradient: the loss of its batch, ||g_k||, and the samples in it. 0 without samples.
  // With optim.clip the loss is NaN, for it is not clipped, and the samples are those expected.
  double loss = 0, gradient_norm = 0;
  std::size_t batch_samples = 0;
  // Not empty: why a step was refused, the last time.
  std::string refusal = {};
  // That were taken, where these are not those that were requested: loops leave some out.
  std::optional<std::uint64_t> steps = {};
  bool is_cured_by_rate = true;  // of a refusal: a smaller learning rate may help
  bool loop_moved = false;       // x, by a loop of the user's own, which draws its batches itself
  std::optional<PrivacySpent> privacy = {};  // after the steps; nothing without optim.noise
  // Of each step, if not the requested one.
  std::optional<double> learning_rate = {};
  // How often a loop has measured by itself so far, during the steps, what they began with; then
  // evaluate() gives the last of that. Nothing: it measures its x.
  std::optional<std::uint64_t> measurements = {};
};

template <class S>  // float or double
class Learner {
 public:
  virtual ~Learner() = default;

  // In their order in x, without gaps. Empty until the model is founded (local_data.h), which all
  // other functions REQUIRE. Valid as long as the foundation.
  virtual std::span<const ParameterBlock> blocks() const = 0;
  std::size_t dimension() const { return dimension_of(blocks()); }

  // The same x for the same seed on every node.
  virtual void initialize(std::span<S> x, std::uint64_t seed) const = 0;
  // Takes the steps. A harmful step is refused; only the report and the random state show that it
  // was tried. Without samples F is zero; if there are also no terms, added vectors or direction to
  // return, u_k = 0. REQUIRES with is_exact: `end`, and no `sum`.
  virtual Report advance(std::span<const S> x, const LocalSteps<S>& steps, const Moves<S>& to) = 0;
  // On the held-out set, or on the node's own samples if there is none; `limit` samples at most, 0
  // for all.
  virtual Evaluation evaluate(std::span<const S> x, std::size_t limit) = 0;

  // The state besides x between steps, for that heir.
  virtual State<S> state(Heir heir) {
    static_cast<void>(heir);
    return {};
  }
  // Goes on from other parameters, as an heir of their node, newcomer or self: resets state()
  // except the opaque part, which is that node's, and forgets which steps were good. `opaque` is
  // outside data; empty: none. As an Heir::back, which is called after that,
  // only the opaque part is taken, which this node saved in its earlier life.
  virtual void restart(const Payload& opaque, Heir heir) {
    static_cast<void>(opaque);
    static_cast<void>(heir);
  }

  // The network's round, of the steps to come.
  std::uint64_t round() const { return round_; }
  void set_round(std::uint64_t round) { round_ = round; }
  // Samples of a batch, of the steps to come; nothing: as the learner began.
  const std::optional<std::size_t>& batch_size() const { return batch_size_; }
  void set_batch_size(std::size_t size) { batch_size_ = size; }

  // For vectors that only a call needs, and for those of the trainer: they take turns in it.
  const std::shared_ptr<BufferPool>& pool() const { return pool_; }

 private:
  std::uint64_t round_ = 0;
  std::optional<std::size_t> batch_size_;
  std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>();
};

}  // namespace starling::optim
