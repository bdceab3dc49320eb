#include "optim/local/relay_learner.h"

#include <algorithm>

#include "optim/vector/kernels.h"

namespace starling::optim {

// argmin <c, x> + (mu / 2) ||x - v||^2 = v - c / mu
template <class S>
void RelayLearner<S>::move(std::span<const S> x, const LocalSteps<S>& steps) {
  moved_.assign(x.size(), S{0});
  const std::span<S> moved = moved_;
  if (const S mu = static_cast<S>(steps.mu); mu > 0) {
    axpy(S{-1}, x, moved);
    if (!steps.anchor.empty()) axpy(S{1}, steps.anchor, moved);
    if (!steps.linear.empty()) axpy(S{-1} / mu, steps.linear, moved);
  }
  const S path = static_cast<S>(steps.learning_rate) * static_cast<S>(steps.count);
  for (const Scaled<S>& term : steps.correction) axpy(path * term.factor, term.values, moved);
}

template <class S>
Report RelayLearner<S>::advance(std::span<const S> x, const LocalSteps<S>& steps,
                                const Moves<S>& to) {
  move(x, steps);
  const std::span<const S> moved = moved_;
  if (!to.sum.empty()) std::ranges::copy(moved, to.sum.begin());
  std::ranges::fill(to.direction, S{0});
  if (!to.direction.empty()) add(steps.added, to.direction);
  if (!to.end.empty() && to.end.data() != x.data()) std::ranges::copy(x, to.end.begin());
  if (!to.end.empty()) axpy(S{1}, moved, to.end);
  return {.steps = 0};
}

template <class S>
Result<void> RelayLearner<S>::found(std::span<const std::string> surveys) {
  if (!surveys.empty()) foundation_ = surveys.front();
  return {};
}

template <class S>
DataSummary RelayLearner<S>::describe() const {
  return {.shard = "none: a relay has no data", .schema = schema_, .needs_model = blocks_.empty()};
}

template class RelayLearner<float>;
template class RelayLearner<double>;

}  // namespace starling::optim
