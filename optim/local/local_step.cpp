#include "optim/local/local_step.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "optim/vector/kernels.h"

namespace starling::optim {
namespace {

template <class S>
double norm(std::span<const S> x) {
  return std::sqrt(squared_norm(x));
}

}  // namespace

template <class S>
LocalStep<S>::LocalStep(const Options& options, Objective<S>& objective, std::uint64_t stream)
    : options_(options),
      objective_(&objective),
      optimizer_(make_local_optimizer<S>(options.local_optimizer, options.momentum,
                                         objective.dimension())),
      guard_(objective, options.seed),
      prng_(Prng::derive(options.seed, stream)) {
  set_round(1);
}

template <class S>
bool LocalStep<S>::direction(std::span<const S> x, std::span<S> u) {
  if (!gradient(x, u)) return false;
  if (batch_samples_ == 0) return true;
  optimizer_->step(u, static_cast<S>(gamma_));
  // As long as the gradient, where that saves a pass over memory.
  const bool is_scaled = options_.local_optimizer == LocalOptimizerKind::sgd;
  return is_taken(x, u, is_scaled ? gamma_ * gradient_norm_ : norm<S>(u));
}

template <class S>
bool LocalStep<S>::turn(std::span<const S> x, std::span<S> g) {
  optimizer_->step(g, static_cast<S>(gamma_));
  return is_taken(x, g, norm<S>(g));
}

template <class S>
bool LocalStep<S>::is_taken(std::span<const S> x, std::span<S> u, double length) {
  if (passes({.x = x, .u = u, .length = length, .loss = loss_})) return true;
  std::ranges::fill(u, S{0});
  optimizer_->reset();
  return false;
}

template <class S>
bool LocalStep<S>::accepts(std::span<const S> x, std::span<const S> u, S a) {
  const double length = std::abs(static_cast<double>(a)) * norm<S>(u);
  return passes({.x = x, .u = u, .factor = a, .length = length, .loss = loss_});
}

template <class S>
bool LocalStep<S>::passes(const typename Guard<S>::Step& step) {
  const Result<void> checked = guard_.check(step);
  if (!checked) refusal_ = checked.error().text;
  return checked.has_value();
}

template <class S>
bool LocalStep<S>::gradient(std::span<const S> x, std::span<S> g) {
  batch_samples_ = 0;
  if (objective_->samples() == 0) {
    std::ranges::fill(g, S{0});
    loss_ = gradient_norm_ = 0;
    add_extra(x, g);
    return true;
  }
  const std::span<const std::uint32_t> batch = next_batch();
  loss_ = objective_->loss_and_gradient(x, batch, g);
  add_terms(x, g);
  gradient_norm_ = norm<S>(g);
  if (!std::isfinite(gradient_norm_) || !std::isfinite(loss_)) {
    std::ranges::fill(g, S{0});
    refusal_ = "the gradient holds a number that is not finite";
    return false;
  }
  batch_samples_ = batch.empty() ? objective_->samples() : batch.size();
  return true;
}

template <class S>
std::span<const std::uint32_t> LocalStep<S>::next_batch() {
  const std::size_t samples = objective_->samples();
  if (options_.batch_size == 0 || options_.batch_size >= samples) return {};
  if (order_.size() != samples) {
    order_.resize(samples);
    std::iota(order_.begin(), order_.end(), 0U);
    position_ = samples;
  }
  if (position_ + options_.batch_size > samples) {
    prng_.shuffle(std::span(order_));
    position_ = 0;
  }
  position_ += options_.batch_size;
  return std::span<const std::uint32_t>(order_).subspan(position_ - options_.batch_size,
                                                        options_.batch_size);
}

template <class S>
void LocalStep<S>::add_terms(std::span<const S> x, std::span<S> g) const {
  if (options_.weight_decay > 0) axpy(static_cast<S>(options_.weight_decay), x, g);
  add_extra(x, g);
}

template <class S>
void LocalStep<S>::add_extra(std::span<const S> x, std::span<S> g) const {
  if (!terms_.linear.empty()) axpy(S{1}, std::span<const S>(terms_.linear), g);
  if (terms_.mu > 0) axpy(terms_.mu, x, g);
  if (!terms_.anchor.empty()) axpy(-terms_.mu, std::span<const S>(terms_.anchor), g);
}

template <class S>
bool LocalStep<S>::minimize(std::span<S> x) {
  const double mu = static_cast<double>(terms_.mu) + options_.weight_decay;
  c_.assign(x.size(), S{0});
  if (!terms_.linear.empty()) std::ranges::copy(terms_.linear, c_.begin());
  if (!terms_.anchor.empty()) axpy(-terms_.mu, std::span<const S>(terms_.anchor), std::span(c_));
  if (objective_->samples() > 0) return objective_->minimize(c_, mu, x);
  if (!(mu > 0)) return false;
  std::ranges::transform(c_, x.begin(), [&](S c) { return static_cast<S>(-c / mu); });
  return true;
}

template class LocalStep<float>;
template class LocalStep<double>;

}  // namespace starling::optim
