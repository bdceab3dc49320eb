// LocalStep: one step on a node's own data. It draws the batch, asks the objective for the
// gradient of F_i(x) + <c,x> + (mu/2)||x - v||^2 + (decay/2)||x||^2 and turns it into u.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/prng.h"
#include "optim/local/guard.h"
#include "optim/local/local_optimizer.h"
#include "optim/local/objective.h"
#include "optim/options.h"

namespace starling::optim {

template <class S>
class LocalStep {
 public:
  // `objective` outlives the step. `stream` tells nodes apart, so that batches differ.
  LocalStep(const Options& options, Objective<S>& objective, std::uint64_t stream);

  ExtraTerms<S>& terms() { return terms_; }
  void set_round(std::uint64_t round) {
    gamma_ = options_.learning_rate * factor(options_.schedule, round);
  }

  // Writes u for the point x. False when it is refused: then u is zero, and refusal() says why.
  // Without samples u is zero too.
  bool direction(std::span<const S> x, std::span<S> u);
  // The same in two halves, for algorithms that put something else between them. The gradient with
  // its extra terms, refused when a number of it is not finite; the optimizer's state stays.
  bool gradient(std::span<const S> x, std::span<S> g);
  // The optimizer's step from x, u in place of g, refused by the guard. Then the optimizer forgets
  // its momentum, which may be what led astray.
  bool turn(std::span<const S> x, std::span<S> g);
  // What the guard says of a step a u from x that was made otherwise.
  bool accepts(std::span<const S> x, std::span<const S> u, S a);
  // Why the last step was refused.
  const std::string& refusal() const { return refusal_; }

  // x = argmin of the objective with its extra terms, over all samples, where it has a closed form;
  // else false, and x stays.
  bool minimize(std::span<S> x);

  // The node starts from somebody else's parameters: forget momentum.
  void reset() {
    optimizer_->reset();
    guard_.reset();
  }
  // Of the local optimizer.
  State<S> state() const { return optimizer_->state(); }
  // The node's samples changed: start a new pass over them.
  void reshuffle() { order_.clear(); }

  // Of the last direction().
  double loss() const { return loss_; }
  double gradient_norm() const { return gradient_norm_; }
  double learning_rate() const { return gamma_; }
  std::size_t batch_samples() const { return batch_samples_; }

 private:
  bool is_taken(std::span<const S> x, std::span<S> u, double length);
  bool passes(const typename Guard<S>::Step& step);
  std::span<const std::uint32_t> next_batch();
  void add_terms(std::span<const S> x, std::span<S> g) const;
  void add_extra(std::span<const S> x, std::span<S> g) const;

  Options options_;
  Objective<S>* objective_;
  std::unique_ptr<LocalOptimizer<S>> optimizer_;
  Guard<S> guard_;
  std::string refusal_;
  ExtraTerms<S> terms_;
  std::vector<S> c_;  // of minimize()
  Prng prng_;
  std::vector<std::uint32_t> order_;  // a shuffled pass over the samples
  std::size_t position_ = 0;
  double gamma_ = 0, loss_ = 0, gradient_norm_ = 0;
  std::size_t batch_samples_ = 0;
};

}  // namespace starling::optim
