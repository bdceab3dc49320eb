// LocalLearner: learns by gradients of an Objective in this process. It draws the batches, turns
// gradients into steps by the local optimizer, and lets the guard refuse harmful ones.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "optim/local/batches.h"
#include "optim/local/guard.h"
#include "optim/local/learner.h"
#include "optim/local/left_out.h"
#include "optim/local/local_data.h"
#include "optim/local/local_optimizer.h"
#include "optim/local/objective.h"
#include "optim/local/private_gradient.h"
#include "optim/options.h"

namespace starling::optim {

template <class S>
class LocalLearner final : public Learner<S>, public LocalData {
 public:
  // `stream` differs by node, so that batches do.
  LocalLearner(const Options& options, std::unique_ptr<Objective<S>> objective,
               std::uint64_t stream);

  std::span<const ParameterBlock> blocks() const override { return objective_->blocks(); }
  void initialize(std::span<S> x, std::uint64_t seed) const override {
    objective_->initialize(x, seed);
  }
  // The weight decay is in the gradient; with adamw, in the step.
  Report advance(std::span<const S> x, const LocalSteps<S>& steps, const Moves<S>& to) override;
  Evaluation evaluate(std::span<const S> x, std::size_t limit) override {
    return objective_->evaluate(x, limit);
  }
  // Of the objective and the local optimizer, and for the node itself also of the guard, the
  // batches and the ledger.
  State<S> state(Heir heir) override;
  void restart(const Payload& opaque, Heir heir) override;

  std::string survey() const override { return objective_->survey(); }
  // Batches, optimizer and guard begin anew with the foundation.
  Result<void> found(std::span<const std::string> surveys) override;
  std::string foundation() const override { return objective_->foundation(); }
  void assign(const Shard& shard) override;
  bool refresh() override;
  DataSummary describe() const override;

 private:
  LocalOptimizer<S>& optimizer();
  // Writes g_k into g. Zero, and false, if a number of it is not finite.
  bool gradient(std::span<const S> x, const LocalSteps<S>& steps, std::span<S> g);
  // The loss of the batch and the part of its samples, or what stands for them with optim.clip.
  void write_gradient(std::span<const S> x, std::span<S> g);
  void add_terms(std::span<const S> x, const LocalSteps<S>& steps, std::span<S> g) const;
  bool minimize(const LocalSteps<S>& steps, std::span<S> x);
  // Turns g_k into d_k, adds its part of the mean to the direction, and computes u_k. Zero, and
  // Turns the gradient in u_ into u_k with its correction. False: the step is refused.
  bool attempt(std::span<const S> x, const LocalSteps<S>& steps, const Moves<S>& to, bool is_sound);
  // false, if the guard refuses u_k.
  bool turn(std::span<const S> x, const LocalSteps<S>& steps, const Moves<S>& to, bool is_sound);
  // Asks the guard about u_k. If u_k is not needed afterwards, u_ then holds x_{k+1}.
  Result<void> check(const typename Guard<S>::Step& step, bool needs_u);
  // Replaces d_k in u_ by the local optimizer's step.
  void take_step(std::span<const S> x, S learning_rate);
  bool decays_in_step() const { return options_.local_optimizer == LocalOptimizerKind::adamw; }
  void correct(const LocalSteps<S>& steps);
  // Returns x_{k+1}.
  std::span<const S> move(std::span<const S> x, bool is_last, const Moves<S>& to);

  Options options_;
  std::unique_ptr<Objective<S>> objective_;
  std::uint64_t stream_;
  std::unique_ptr<LocalOptimizer<S>> optimizer_;  // null until the first step
  Guard<S> guard_;
  LeftOut left_out_;
  Batches batches_;
  std::optional<PrivateGradient<S>> private_;  // with optim.clip; it outlives foundations
  Report report_;                              // of the steps so far
  std::span<S> u_;                             // u_k is factor_ times this, during advance()
  S factor_ = 1;
  bool is_moved_ = false;   // u_ holds x_{k+1} instead
  std::vector<S> between_;  // x_k, if the caller does not want the end
  std::vector<S> c_;        // of minimize()
};

}  // namespace starling::optim
