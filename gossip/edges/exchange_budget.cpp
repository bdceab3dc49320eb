#include "gossip/edges/exchange_budget.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace starling::gossip {
namespace {

// Rounds with the same number of steps and the same encodings before a choice follows from them.
// More: a choice follows the link later. Fewer: a few unusual rounds change it.
constexpr std::size_t kRoundsMeasured = 5;

// A choice changes when the need exceeds it by this factor, or is below half of it by this factor,
// so that it goes back only after the need changed by more than half. Larger: choices are further
// from the need. Smaller: they follow the noise of measurements.
constexpr double kSlack = 1.25;

// Edges whose T differ by less than this factor are shortened alike: vectors that leave a node over
// one link arrive one after the other. Larger: a thin link shortens more of the others' vectors.
// Smaller: of the vectors that share a link the last ones are shortened in place of all.
constexpr double kAlike = 8;

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

bool ExchangeBudget::add(const Round& round, std::span<const Edge> edges) {
  if (!chooses_steps_ && encodings_.empty()) return false;
  // The first round with new values is not measured: neighbours begin with them a round later.
  if (round.steps != measured_steps_) {
    measured_steps_ = round.steps;
    rounds_ = 0;
    exchanges_ = rests_ = {};
    return false;
  }
  const Duration exchange = std::clamp(round.exchange, Duration{}, round.whole);
  exchanges_.add(exchange);
  rests_.add(round.whole - exchange);
  if (++rounds_ < kRoundsMeasured) return false;
  exchange_s_ = seconds(exchanges_.median());
  step_s_ = std::max(seconds(rests_.median()) / static_cast<double>(measured_steps_), kStepLeast_s);
  if (shorten(edges)) {
    measured_steps_ = 0;
    return true;
  }
  if (chooses_steps_)
    steps_wish_.consider(exchange_s_ / allowed_s(), static_cast<double>(kLocalStepsMost));
  return false;
}

// Seconds of exchange allowed per step.
double ExchangeBudget::allowed_s() const {
  return share_ / (1 - share_) * step_s_;
}

// Returns whether any edge is shortened otherwise.
bool ExchangeBudget::shorten(std::span<const Edge> edges) {
  if (encodings_.empty()) return false;
  const double allowed = allowed_s() * (chooses_steps_ ? 1 : static_cast<double>(measured_steps_));
  slowest_s_ = 0;
  for (const Edge& edge : edges) slowest_s_ = std::max(slowest_s_, edge.transfer_s);
  const auto slowest_alike = [&](double transfer_s) {
    double slowest = transfer_s;
    for (const Edge& edge : edges)
      if (edge.transfer_s < kAlike * transfer_s) slowest = std::max(slowest, edge.transfer_s);
    return slowest;
  };
  bool changes = false;
  std::map<NodeId, Wish> next;
  for (const Edge& edge : edges) {
    Wish& wish = next[edge.peer] = edges_[edge.peer];
    const double before = wish.value.value_or(1);
    if (edge.transfer_s > 0)
      wish.consider(slowest_alike(edge.transfer_s) / allowed,
                    static_cast<double>(encodings_.back().shortening));
    changes |= wish.value.value_or(1) != before;
  }
  edges_ = std::move(next);
  return changes;
}

void ExchangeBudget::take(const optim::StepCount& steps) {
  chooses_steps_ = !steps.fixed;
  if (steps.fixed) {
    steps_ = *steps.fixed;
    steps_wish_ = {};
  }
}

bool ExchangeBudget::follow(std::uint64_t wished_steps) {
  const std::size_t before = steps_;
  if (chooses_steps_ && wished_steps > 0)
    steps_ = power_of_two(static_cast<double>(wished_steps), kLocalStepsMost);
  return steps_ != before;
}

std::size_t ExchangeBudget::shortening(NodeId peer) const {
  const auto found = edges_.find(peer);
  return found == edges_.end() ? 1 : static_cast<std::size_t>(found->second.value.value_or(1));
}

// REQUIRES encodings.
const optim::EncodingChoice& ExchangeBudget::encoding_for(double shortening) const {
  const auto reaches = [&](const optim::EncodingChoice& encoding) {
    return static_cast<double>(encoding.shortening) >= shortening;
  };
  return *std::ranges::find_if(encodings_.begin(), encodings_.end() - 1, reaches);
}

std::string_view ExchangeBudget::encoding(NodeId peer) const {
  return encodings_.empty() ? "" : encoding_for(static_cast<double>(shortening(peer))).name;
}

std::string ExchangeBudget::steps_text() const {
  return fmt::format("{} local step{} a round", steps_, steps_ == 1 ? "" : "s");
}

std::string ExchangeBudget::encodings_text() const {
  std::string text;
  for (auto encoding = encodings_.rbegin(); encoding != encodings_.rend(); ++encoding) {
    const auto count = std::ranges::count_if(
        edges_, [&](const auto& edge) { return this->encoding(edge.first) == encoding->name; });
    if (count > 0)
      text += fmt::format("{}{} vectors over {} edge{}", text.empty() ? "" : ", ", encoding->name,
                          count, count == 1 ? "" : "s");
  }
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
  if (encodings_.empty()) return {};
  if (slowest_s_ == 0) return "exchange.codec=auto measures the first rounds";
  const double steps = chooses_steps_ ? 1 : static_cast<double>(steps_);
  const double most = static_cast<double>(encodings_.back().shortening);
  return fmt::format(
      "as each link asks: {}; over the slowest a vector that is not shortened takes {:.3g} s, of "
      "{:.3g} s that keep within optim.exchange-share={}{}",
      encodings_text(), slowest_s_, allowed_s() * steps, share_,
      slowest_s_ > most * kSlack * allowed_s() * steps
          ? ", and not even the shortest encoding keeps within them"
          : "");
}

}  // namespace starling::gossip
