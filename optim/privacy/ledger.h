// Ledger: what a node's steps so far may have told about one of its samples. It counts all steps of
// all lives as if each had the largest rate and the least noise of any, so that three numbers are
// all that a checkpoint keeps, and epsilon is never below the truth.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "optim/job.h"
#include "optim/privacy/accountant.h"
#include "optim/state.h"

namespace starling::optim {

class Ledger {
 public:
  explicit Ledger(double delta) : delta_(delta) {}

  void add(const SampledGaussian& step) {
    rate_ = std::max(rate_, step.rate);
    noise_ = steps_ == 0 ? step.noise : std::min(noise_, step.noise);
    ++steps_;
  }
  // The node goes on from an earlier life, whose ledger state() is about to restore. If it had
  // none, its steps are unknown and epsilon has no bound.
  void resume() { is_whole_ = false; }

  PrivacySpent spent() const {
    PrivacySpent spent{.delta = delta_, .steps = steps_};
    if (!is_whole_) return spent;
    if (steps_ == 0) {
      spent.epsilon = 0;
      return spent;
    }
    const SampledGaussian worst{.rate = rate_, .noise = noise_};
    if (curve_.empty() || worst != of_curve_) curve_ = renyi_curve(worst), of_curve_ = worst;
    const double bound = epsilon(curve_, steps_, delta_);
    if (bound < std::numeric_limits<double>::infinity()) spent.epsilon = bound;
    return spent;
  }

  // Works for vectors of any number type.
  template <class S>
  State<S> state() {
    return {
        .own = {{"steps", &steps_}, {"rate", &rate_}, {"noise", &noise_}, {"whole", &is_whole_}}};
  }

 private:
  double delta_;
  std::uint64_t steps_ = 0;
  double rate_ = 0, noise_ = 0;  // the largest and the least of all steps
  bool is_whole_ = true;
  mutable SampledGaussian of_curve_;
  mutable std::vector<double> curve_;  // of the worst step; empty: not computed yet
};

}  // namespace starling::optim
