#include "gossip/edges/exchange_budget.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace starling::gossip {
namespace {

// Rounds with the same number of steps and the same encoding before a wish follows from them. More:
// a wish follows the link later. Fewer: a few unusual rounds change a wish.
constexpr std::size_t kRoundsMeasured = 5;

// A wish changes when the need exceeds it by this factor, or is below half of it by this factor, so
// that a wish goes back only after the need changed by more than half. Larger: wishes are further
// from the need. Smaller: they follow the noise of measurements.
constexpr double kSlack = 1.25;

// A step must not take zero time, even if the clock does not advance.
constexpr double kStepLeast_s = 1e-9;

std::size_t power_of_two(double least, double most) {
  return std::bit_ceil(static_cast<std::size_t>(std::clamp(std::ceil(least), 1.0, most)));
}

}  // namespace

void ExchangeBudget::Wish::consider(double need, double most) {
  const double old = value.value_or(1);
  value = old;
  if (need <= kSlack * old && kSlack * need >= old / 2) return;
  value = static_cast<double>(power_of_two(need, most));
}

double ExchangeBudget::shortening_most() const {
  return encodings_.empty() ? 1 : static_cast<double>(encodings_.back().shortening);
}

void ExchangeBudget::add(const Round& round) {
  if (!chooses()) return;
  // The first round with new values is not measured: neighbours begin with them a round later.
  if (round.steps != measured_steps_ || round.shortening != measured_shortening_) {
    measured_steps_ = round.steps;
    measured_shortening_ = round.shortening;
    rounds_ = 0;
    exchanges_ = transfers_ = rests_ = {};
    return;
  }
  const Duration exchange = std::clamp(round.exchange, Duration{}, round.whole);
  exchanges_.add(exchange);
  transfers_.add(std::clamp(round.transfer, Duration{}, exchange));
  rests_.add(round.whole - exchange);
  if (++rounds_ >= kRoundsMeasured) consider();
}

void ExchangeBudget::consider() {
  exchange_s_ = seconds(exchanges_.median());
  transfer_s_ = seconds(transfers_.median());
  step_s_ = std::max(seconds(rests_.median()) / static_cast<double>(measured_steps_), kStepLeast_s);
  const double per_step = share_ / (1 - share_) * step_s_;  // seconds of exchange allowed per step
  const auto shortened = static_cast<double>(measured_shortening_);
  if (chooses_encoding()) {
    const double least_steps = chooses_steps_ ? 1 : static_cast<double>(measured_steps_);
    shortening_wish_.consider(shortened * transfer_s_ / (least_steps * per_step),
                              shortening_most());
  }
  if (!chooses_steps_) return;
  const double to_come = shortened / std::max(shortened, shortening_wish_.value.value_or(1));
  steps_wish_.consider((exchange_s_ - transfer_s_ * (1 - to_come)) / per_step,
                       static_cast<double>(kLocalStepsMost));
}

Wishes ExchangeBudget::wishes() const {
  return {.steps = static_cast<std::uint64_t>(steps_wish_.value.value_or(0)),
          .shortening = static_cast<std::uint64_t>(shortening_wish_.value.value_or(0))};
}

void ExchangeBudget::take(const optim::StepCount& steps) {
  chooses_steps_ = !steps.fixed;
  if (steps.fixed) steps_ = *steps.fixed;
}

bool ExchangeBudget::follow(const Wishes& wished) {
  const auto before = std::pair(steps_, shortening_);
  if (chooses_steps_ && wished.steps > 0)
    steps_ = power_of_two(static_cast<double>(wished.steps), kLocalStepsMost);
  if (chooses_encoding() && wished.shortening > 0)
    shortening_ = power_of_two(static_cast<double>(wished.shortening), shortening_most());
  return before != std::pair(steps_, shortening_);
}

// REQUIRES encodings.
const optim::EncodingChoice& ExchangeBudget::encoding_for(double shortening) const {
  const auto reaches = [&](const optim::EncodingChoice& encoding) {
    return static_cast<double>(encoding.shortening) >= shortening;
  };
  return *std::ranges::find_if(encodings_.begin(), encodings_.end() - 1, reaches);
}

std::string ExchangeBudget::text() const {
  std::string text;
  if (chooses_encoding())
    text = fmt::format("{} vectors", encoding_for(static_cast<double>(shortening_)).name);
  if (chooses_steps_)
    text += fmt::format("{}{} local step{} a round", text.empty() ? "" : ", ", steps_,
                        steps_ == 1 ? "" : "s");
  return text;
}

std::string ExchangeBudget::steps_reason() const {
  if (!chooses_steps_) return {};
  if (!steps_wish_.value) return "optim.local-steps=auto measures the first rounds";
  const double wish = *steps_wish_.value;
  return fmt::format(
      "as the nodes wish; here the exchange takes {:.3g} s a round and the rest of it {:.3g} s a "
      "step, so that {} keep{} within optim.exchange-share={}{}",
      exchange_s_, step_s_, wish, wish == 1 ? "s" : "", share_,
      wish == kLocalStepsMost ? ", or not even these, which are the most" : "");
}

std::string ExchangeBudget::encoding_reason() const {
  if (!chooses_encoding()) return {};
  if (!shortening_wish_.value) return "exchange.codec=auto measures the first rounds";
  const double wish = *shortening_wish_.value;
  return fmt::format(
      "as the nodes wish; here vectors were under way for {:.3g} s a round and the rest of it took "
      "{:.3g} s a step, so that {} keeps within optim.exchange-share={}{}",
      transfer_s_, step_s_, encoding_for(wish).name, share_,
      wish == shortening_most() ? ", or not even this, which is the shortest" : "");
}

}  // namespace starling::gossip
