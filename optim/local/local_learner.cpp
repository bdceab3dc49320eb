#include "optim/local/local_learner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/check.h"
#include "optim/vector/kernels.h"

namespace starling::optim {
namespace {

template <class S>
double norm(std::span<const S> x) {
  return std::sqrt(squared_norm(x));
}

template <class S>
bool has_terms(const LocalSteps<S>& steps) {
  return !steps.linear.empty() || steps.mu > 0;
}

Batches batches(const Options& options, std::uint64_t stream) {
  return {options.batch_size, Prng::derive(options.seed, stream)};
}

}  // namespace

template <class S>
LocalLearner<S>::LocalLearner(const Options& options, std::unique_ptr<Objective<S>> objective,
                              std::uint64_t stream)
    : options_(options),
      objective_(std::move(objective)),
      stream_(stream),
      guard_(*objective_, options.seed),
      batches_(batches(options, stream)) {
  if (options.clip > 0) private_.emplace(options, stream);
}

template <class S>
DataSummary LocalLearner<S>::describe() const {
  DataSummary summary = objective_->describe();
  if (private_) summary.privacy = private_->spent(1);
  return summary;
}

template <class S>
Result<void> LocalLearner<S>::found(std::span<const std::string> surveys) {
  TRY_DO(objective_->found(surveys));
  optimizer_ = nullptr;
  guard_ = Guard<S>(*objective_, options_.seed);
  batches_ = batches(options_, stream_);
  return {};
}

template <class S>
void LocalLearner<S>::assign(const Shard& shard) {
  objective_->assign(shard);
  batches_.reshuffle();
}

template <class S>
bool LocalLearner<S>::refresh() {
  const bool is_changed = objective_->refresh();
  if (is_changed) batches_.reshuffle();
  return is_changed;
}

template <class S>
LocalOptimizer<S>& LocalLearner<S>::optimizer() {
  if (!optimizer_) optimizer_ = make_local_optimizer<S>(options_, this->dimension());
  return *optimizer_;
}

template <class S>
State<S> LocalLearner<S>::state(Heir heir) {
  State<S> state;
  state.add("objective", objective_->state());
  state.add("optimizer", optimizer().state());
  state.add("guard", guard_.state());
  state.add("batches", batches_.state<S>());
  if (private_) state.add("privacy", private_->state(heir));
  return state;
}

template <class S>
void LocalLearner<S>::restart(const Payload&, Heir heir) {
  if (heir == Heir::back) return;
  if (private_ && heir == Heir::self) private_->resume();
  optimizer().reset();
  guard_.reset();
}

template <class S>
Report LocalLearner<S>::advance(std::span<const S> x, const LocalSteps<S>& steps,
                                const Moves<S>& to) {
  ENSURE(!steps.is_exact || (!to.end.empty() && to.sum.empty()), "a minimum is no sum of steps");
  report_ = {};
  const Scratch<S> u(*this->pool(), x.size());
  u_ = u.numbers();
  std::ranges::fill(to.sum, S{0});
  std::ranges::fill(to.direction, S{0});
  for (std::size_t k = 0; k < steps.count; ++k) {
    const bool is_sound = gradient(x, steps, u_);
    if (!is_sound && !steps.goes_on) break;
    // After the gradient, which the report describes.
    if (k == 0 && steps.is_exact && !private_ && minimize(steps, to.end)) return report_;
    if (attempt(x, steps, to, is_sound))
      x = move(x, k + 1 == steps.count, to);
    else if (!steps.goes_on)
      break;
  }
  if (!to.end.empty() && to.end.data() != x.data()) std::ranges::copy(x, to.end.begin());
  if (private_) report_.privacy = private_->spent(steps.count);
  return report_;
}

template <class S>
bool LocalLearner<S>::attempt(std::span<const S> x, const LocalSteps<S>& steps, const Moves<S>& to,
                              bool is_sound) {
  if (!is_sound && !left_out_.takes_correction(false)) return false;
  const bool is_taken = turn(x, steps, to, is_sound);
  if (!is_taken && !steps.goes_on) return false;
  if (is_sound && !left_out_.takes_correction(is_taken)) return false;
  correct(steps);
  return true;
}

template <class S>
bool LocalLearner<S>::gradient(std::span<const S> x, const LocalSteps<S>& steps, std::span<S> g) {
  report_.batch_samples = 0;
  const std::size_t samples = objective_->samples();
  if (samples == 0) {
    std::ranges::fill(g, S{0});
    report_.loss = report_.gradient_norm = 0;
    add_terms(x, steps, g);
    return true;
  }
  write_gradient(x, g);
  if (options_.weight_decay > 0 && !decays_in_step())
    axpy(static_cast<S>(options_.weight_decay), x, g);
  add_terms(x, steps, g);
  report_.gradient_norm = norm<S>(g);
  if (!std::isfinite(report_.gradient_norm) || !(private_ || std::isfinite(report_.loss))) {
    report_.batch_samples = 0;
    std::ranges::fill(g, S{0});
    report_.refusal = "the gradient holds a number that is not finite";
    return false;
  }
  return true;
}

template <class S>
void LocalLearner<S>::write_gradient(std::span<const S> x, std::span<S> g) {
  if (private_) {
    report_.loss = std::numeric_limits<double>::quiet_NaN();
    report_.batch_samples = private_->write(*objective_, x, g);
    return;
  }
  const std::size_t samples = objective_->samples();
  if (this->batch_size()) batches_.resize(*this->batch_size());
  const std::span<const std::uint32_t> batch = batches_.next(samples);
  report_.loss = objective_->loss_and_gradient(x, batch, g);
  report_.batch_samples = batch.empty() ? samples : batch.size();
}

template <class S>
void LocalLearner<S>::add_terms(std::span<const S> x, const LocalSteps<S>& steps,
                                std::span<S> g) const {
  const S mu = static_cast<S>(steps.mu);
  if (!steps.linear.empty()) axpy(S{1}, steps.linear, g);
  if (mu > 0) axpy(mu, x, g);
  if (!steps.anchor.empty()) axpy(-mu, steps.anchor, g);
}

template <class S>
bool LocalLearner<S>::minimize(const LocalSteps<S>& steps, std::span<S> x) {
  const S mu = static_cast<S>(steps.mu);
  c_.assign(x.size(), S{0});
  if (!steps.linear.empty()) std::ranges::copy(steps.linear, c_.begin());
  if (!steps.anchor.empty()) axpy(-mu, steps.anchor, std::span(c_));
  if (objective_->samples() > 0)
    return objective_->minimize(c_, static_cast<double>(mu) + options_.weight_decay, x);
  if (!(mu > 0)) return false;
  // Without samples the weight decay, a part of F, is zero too.
  std::ranges::transform(c_, x.begin(), [&](S c) { return -c / mu; });
  return true;
}

template <class S>
bool LocalLearner<S>::turn(std::span<const S> x, const LocalSteps<S>& steps, const Moves<S>& to,
                           bool is_sound) {
  const std::span<S> direction = to.direction;
  is_moved_ = false;
  const bool is_tracked = !direction.empty() || !steps.added.empty();
  add(steps.added, std::span<S>(u_));
  if (!direction.empty())
    axpy(S{1} / static_cast<S>(steps.count), std::span<const S>(u_), direction);
  factor_ = 1;
  const bool has_samples = report_.batch_samples > 0;
  if (!is_tracked && !(is_sound && (has_samples || has_terms(steps)))) return true;
  if (steps.is_plain)
    factor_ = -static_cast<S>(steps.learning_rate);
  else
    take_step(x, static_cast<S>(steps.learning_rate));
  // A step of sgd is as long as its gradient, which saves a pass over memory.
  const bool is_scaled = !steps.is_plain && !is_tracked && has_samples &&
                         options_.local_optimizer == LocalOptimizerKind::sgd;
  const double length = is_scaled ? steps.learning_rate * report_.gradient_norm
                                  : std::abs(static_cast<double>(factor_)) * norm<S>(u_);
  // The loss of clipped samples is not to be told, not even by which steps are refused.
  const Result<void> checked =
      check({.x = x, .length = length, .loss = private_ ? 0 : report_.loss},
            !to.sum.empty() || !steps.correction.empty());
  if (checked) return true;
  report_.refusal = checked.error().text;
  std::ranges::fill(u_, S{0});
  is_moved_ = false;
  optimizer().reset();  // its momentum may be the cause
  return false;
}

template <class S>
Result<void> LocalLearner<S>::check(const typename Guard<S>::Step& step, bool needs_u) {
  if (!guard_.suspects(step)) return {};
  std::optional<Scratch<S>> apart;
  if (needs_u) apart.emplace(*this->pool(), u_.size());
  const std::span<S> moved = apart ? apart->numbers() : u_;
  std::array<S, kTile> tile;
  for (std::size_t k = 0; k < u_.size(); k += kTile) {
    const std::span<const S> u = u_.subspan(k, std::min(kTile, u_.size() - k));
    std::copy_n(step.x.subspan(k).begin(), u.size(), tile.begin());
    axpy(factor_, u, std::span(tile).first(u.size()));
    std::copy_n(tile.begin(), u.size(), moved.subspan(k).begin());
  }
  is_moved_ = !apart;
  return guard_.check(step, moved);
}

template <class S>
void LocalLearner<S>::take_step(std::span<const S> x, S learning_rate) {
  optimizer().step(u_, learning_rate);
  if (options_.weight_decay > 0 && decays_in_step())
    axpy(-learning_rate * static_cast<S>(options_.weight_decay), x, std::span<S>(u_));
}

template <class S>
void LocalLearner<S>::correct(const LocalSteps<S>& steps) {
  if (steps.correction.empty()) return;
  if (factor_ != 1)
    for (S& value : u_) value *= factor_;
  factor_ = 1;
  const S rate = static_cast<S>(steps.learning_rate);
  for (const Scaled<S>& term : steps.correction)
    axpy(rate * term.factor, term.values, std::span<S>(u_));
}

template <class S>
std::span<const S> LocalLearner<S>::move(std::span<const S> x, bool is_last, const Moves<S>& to) {
  const std::span<const S> u = u_;
  if (!to.sum.empty()) axpy(factor_, u, to.sum);
  if (is_last && to.end.empty()) return x;
  if (to.end.empty()) between_.resize(x.size());
  const std::span<S> next = to.end.empty() ? std::span<S>(between_) : to.end;
  if (is_moved_ || next.data() != x.data()) std::ranges::copy(is_moved_ ? u : x, next.begin());
  if (!is_moved_) axpy(factor_, u, next);
  return next;
}

template class LocalLearner<float>;
template class LocalLearner<double>;

}  // namespace starling::optim
