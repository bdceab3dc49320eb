#include "gossip/edges/step_pace.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace starling::gossip {
namespace {

// Rounds with the same number of steps before a wish follows from them. More: a wish follows the
// link later. Fewer: a few unusual rounds change a wish.
constexpr std::size_t kRoundsMeasured = 5;

// A wish changes when the need exceeds it by this factor, or is below half of it by this factor, so
// that a wish goes back only after the need changed by more than half. Larger: wishes are further
// from the need. Smaller: they follow the noise of measurements.
constexpr double kSlack = 1.25;

// With a clock that stands still a step must not take zero time.
constexpr double kStepLeast_s = 1e-9;

}  // namespace

void StepPace::add(std::size_t steps, Duration whole, Duration exchange) {
  if (!chooses_) return;
  // Ignores the first round of a new number: neighbours begin with it a round later.
  if (steps != measured_steps_) {
    measured_steps_ = steps;
    rounds_ = 0;
    exchanges_ = rests_ = {};
    return;
  }
  const Duration part = std::clamp(exchange, Duration{}, whole);
  exchanges_.add(part);
  rests_.add(whole - part);
  if (++rounds_ < kRoundsMeasured) return;
  exchange_s_ = seconds(exchanges_.median());
  step_s_ = std::max(seconds(rests_.median()) / static_cast<double>(steps), kStepLeast_s);
  consider(exchange_s_ * (1 - share_) / (share_ * step_s_));
}

void StepPace::consider(double need) {
  wish_ = wish_.value_or(1);
  const auto old = static_cast<double>(*wish_);
  if (need <= kSlack * old && kSlack * need >= old / 2) return;
  const double least = std::clamp(std::ceil(need), 1.0, static_cast<double>(kLocalStepsMost));
  wish_ = std::bit_ceil(static_cast<std::size_t>(least));
}

void StepPace::follow(std::optional<double> wished) {
  if (!chooses_ || !wished) return;
  const double least = std::clamp(*wished, 1.0, static_cast<double>(kLocalStepsMost));
  steps_ = std::bit_ceil(static_cast<std::size_t>(least));
}

std::string StepPace::reason() const {
  if (!chooses_) return {};
  if (!wish_) return "optim.local-steps=auto measures the first rounds";
  return fmt::format(
      "the largest wish of all nodes; here the exchange takes {:.3g} s a round and the rest of it "
      "{:.3g} s a step, so that {} keep{} within optim.exchange-share={}{}",
      exchange_s_, step_s_, *wish_, *wish_ == 1 ? "s" : "", share_,
      *wish_ == kLocalStepsMost ? ", or not even these, which are the most" : "");
}

}  // namespace starling::gossip
