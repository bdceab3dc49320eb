// Ledger: what a node's steps so far may have told about one of its samples. It counts all steps of
// all lives as if each had the largest rate and the least noise of any, so that a few numbers are
// all that a checkpoint keeps, and epsilon is never below the truth. Of a life that ended without a
// last checkpoint, as by kill -9, it counts the steps that no checkpoint has as twice the most that
// lay between two of them: the last one may not have reached the disk.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "optim/privacy/accountant.h"
#include "optim/state.h"
#include "optim/workload.h"

namespace starling::optim {

class Ledger {
 public:
  explicit Ledger(double delta) : delta_(delta) {}

  void add(const SampledGaussian& step) {
    settle();
    rate_ = std::max(rate_, step.rate);
    noise_ = steps_ == 0 ? step.noise : std::min(noise_, step.noise);
    ++steps_;
  }
  // The node goes on from an earlier life, whose ledger the next state() restores. If it had none,
  // its steps are unknown and epsilon has no bound.
  void resume() {
    is_whole_ = false;
    awaits_ = true;
  }

  // `more`: the steps to come, for PrivacySpent::coming, each as the worst so far.
  PrivacySpent spent(std::uint64_t more) const {
    const std::uint64_t steps = steps_ + unsaved();
    return {
        .epsilon = after(steps), .coming = after(steps + more), .delta = delta_, .steps = steps};
  }

  // Nothing for newcomers: it is about this node's samples. Works for vectors of any number type.
  template <class S>
  State<S> state(Heir heir) {
    if (heir == Heir::newcomer) return {};
    if (std::exchange(awaits_, false))
      is_restored_ = true;
    else
      note_save(heir);
    return {.own = {{"steps", &steps_},
                    {"rate", &rate_},
                    {"noise", &noise_},
                    {"gap", &gap_},
                    {"open", &is_open_},
                    {"whole", &is_whole_}}};
  }

 private:
  void note_save(Heir heir) {
    settle();
    gap_ = std::max(gap_, steps_ - saved_at_);
    saved_at_ = steps_;
    is_open_ = heir != Heir::rested;
  }
  // That an earlier life may have taken after its last checkpoint.
  std::uint64_t unsaved() const { return is_restored_ && is_open_ ? 2 * gap_ : 0; }
  void settle() {
    if (!is_restored_) return;
    steps_ += unsaved();
    saved_at_ = steps_;
    is_restored_ = false;
  }
  std::optional<double> after(std::uint64_t steps) const {
    if (!is_whole_) return std::nullopt;
    if (steps_ == 0) return 0;
    const SampledGaussian worst{.rate = rate_, .noise = noise_};
    if (curve_.empty() || worst != of_curve_) curve_ = renyi_curve(worst), of_curve_ = worst;
    const double bound = epsilon(curve_, steps, delta_);
    return bound < std::numeric_limits<double>::infinity() ? std::optional(bound) : std::nullopt;
  }

  double delta_;
  std::uint64_t steps_ = 0;
  double rate_ = 0, noise_ = 0;  // the largest and the least of all steps
  std::uint64_t gap_ = 0;        // the most steps between two saves
  std::uint64_t saved_at_ = 0;   // steps_ at the last save of this life
  bool is_open_ = true;          // steps followed the last save
  bool is_whole_ = true;         // all steps are known
  bool awaits_ = false;          // the next state() restores
  bool is_restored_ = false;     // and nothing has been added since
  mutable SampledGaussian of_curve_;
  mutable std::vector<double> curve_;  // of the worst step; empty: not computed yet
};

}  // namespace starling::optim
