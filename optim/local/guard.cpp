#include "optim/local/guard.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "optim/vector/kernels.h"

namespace starling::optim {
namespace {

// How much longer a step, or larger a loss, may be than any found good. Larger: fewer evaluations.
// Smaller: divergence is noticed earlier.
constexpr double kStride = 2;
// How far the loss may rise above that of the initial model. Smaller would refuse high rates that
// work; for a quadratic loss, ten is about three times the distance to the optimum.
constexpr double kBlowUp = 10;
// If the initial model happens to have no loss, a rise to ten times this is no blow-up.
constexpr double kLeastReference = 0.1;
// Enough to distinguish a tenfold rise from chance, few enough to cost less than a gradient.
constexpr std::size_t kSamples = 64;

}  // namespace

template <class S>
bool Guard<S>::suspects(const Step& step) const {
  const bool is_usual = step.length <= kStride * good_length_ && step.loss <= kStride * good_loss_;
  return !is_usual && step.length != 0;
}

template <class S>
Result<void> Guard<S>::check(const Step& step, std::span<const S> moved) {
  if (!std::isfinite(step.length) || !std::isfinite(squared_norm(moved)))
    return fail("the model would grow beyond all numbers");
  if (!std::exchange(knows_first_, true)) refer_to(step.x);
  const double after = loss_at(moved);
  if (!allows(after)) refer_to_initial_model();
  if (!allows(after)) {
    const double before = loss_at(step.x);
    const bool leads_back = std::isfinite(after) && !(after > before);
    // Far from the optimum good steps are long, but none needs to be longer than ||x||.
    const double longest =
        std::max(kStride * good_length_, std::sqrt(squared_norm(std::span<const S>(step.x))));
    if (leads_back && step.length <= longest) return {};
    if (leads_back || !std::isfinite(before))
      return fail("the loss is {:.3g}, that of the initial model {:.3g}", before, reference_);
    return fail("the loss would rise from {:.3g} to {:.3g}", before, after);
  }
  good_length_ = std::max(good_length_, step.length);
  good_loss_ = std::max(good_loss_, step.loss);
  return {};
}

template <class S>
double Guard<S>::loss_at(std::span<const S> x) {
  return function_->evaluate(x, kSamples).loss;
}

template <class S>
bool Guard<S>::allows(double loss) const {
  return std::isfinite(loss) && loss <= kBlowUp * std::max(reference_, kLeastReference);
}

template <class S>
void Guard<S>::refer_to(std::span<const S> x) {
  if (const double loss = loss_at(x); std::isfinite(loss)) reference_ = std::max(reference_, loss);
}

// As late as possible, because drawing the initial model takes long.
template <class S>
void Guard<S>::refer_to_initial_model() {
  if (std::exchange(knows_initial_, true)) return;
  std::vector<S> initial(function_->dimension());
  function_->initialize(initial, seed_);
  refer_to(initial);
}

template class Guard<float>;
template class Guard<double>;

}  // namespace starling::optim
