// HoldUps: which neighbour this node's rounds wait for, and for which part of the time. The transit
// time of a vector is waiting for the network, and does not count.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

#include "base/ids.h"
#include "base/time.h"
#include "gossip/wire/message.h"

namespace starling::gossip {

class HoldUps {
 public:
  // Records a round of length `round` that waited `wait` for `neighbor`; NodeId{}: for none.
  void add(Duration round, NodeId neighbor, Duration wait) {
    const double fade = std::max(kFadeMost, 1 - seconds(round) / kMemory_s);
    all_ = fade * all_ + seconds(round);
    rounds_ = fade * rounds_ + 1;
    for (auto& [id, waited] : waited_) waited *= fade;
    if (neighbor != NodeId{}) waited_[neighbor] += seconds(std::clamp<Duration>(wait, {}, round));
    std::erase_if(waited_, [this](const auto& item) { return item.second <= kForgotten * all_; });
    tell();
  }

  // The neighbour and the percentage; none while rounds hardly wait. The percentage changes only by
  // more than kStep, because people read it.
  const Held& held() const { return held_; }

 private:
  // Larger: a node that was slow is named for longer. Smaller: one slow step names a node.
  static constexpr double kMemory_s = 10;
  static constexpr double kFadeMost = 0.8;    // after a round longer than a fifth of the memory
  static constexpr double kLeast_s = 1;       // shorter histories count as this long
  static constexpr double kForgotten = 1e-3;  // neighbours with less of the time are forgotten
  // Rounds count as waiting once both are exceeded, until one falls to its half: the begin and the
  // end are rumors to all members, so they should be seconds apart.
  static constexpr double kMuch = 20;            // in percent
  static constexpr double kWorthSaying = 0.005;  // in seconds a round
  static constexpr double kStep = 5;             // in percent

  void tell() {
    double total = 0, most = 0;
    NodeId longest{};
    for (const auto& [id, waited] : waited_) {
      total += waited;
      if (waited > most) most = waited, longest = id;
    }
    const double percent = 100 * total / std::max(all_, kLeast_s);
    const double least = held_.percent > 0 ? 0.5 : 1;
    if (percent < least * kMuch || total < least * kWorthSaying * rounds_) {
      held_ = {};
      return;
    }
    held_.by = longest;
    if (std::abs(percent - static_cast<double>(held_.percent)) > kStep)
      held_.percent = static_cast<std::uint64_t>(std::lround(percent));
  }

  double all_ = 0, rounds_ = 0;  // seconds and number of recent rounds, older ones less
  std::map<NodeId, double> waited_;
  Held held_;
};

}  // namespace starling::gossip
