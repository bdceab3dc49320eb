// Patience: how long a round waits for one neighbour, from the neighbour's own arrivals. An
// interval is the time between two vectors of the neighbour over the rounds between them; with one
// partner a round several rounds lie between them.
//   doubt     4 * median interval + 4 * mean absolute deviation, over the last 16; then the
//             neighbour is probed
//   patience  the same, but never less than TCP may need after lost packets, or than it takes to
//             detect a death, nor than 1.5 * the longest of these intervals: a neighbour that was
//             silent for that long may be so again; then the round goes on without the neighbour
// An interval in which the neighbour was late counts like every other, so that patience grows with
// a neighbour that became slow. Larger: rounds wait longer for a node that hangs. Smaller: rounds
// go on without a node that is only late.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/time.h"

namespace starling::gossip {

// How long a round waits while the length of rounds is unknown, or while this node is far ahead of
// all neighbours. Smaller: a node trains towards its own optimum before its neighbours' next round
// ends, or while all its links are down.
inline constexpr Duration kBlindPatience = std::chrono::seconds(60);

// The last sixteen durations of some event.
class Recent {
 public:
  void add(Duration duration) { values_[count_++ % values_.size()] = duration; }
  // Whether there are enough durations for an estimate.
  bool is_measured() const { return count_ >= 3; }
  // REQUIRES a duration.
  Duration median() const {
    std::array<Duration, 16> sorted = values_;
    const auto middle = sorted.begin() + size() / 2;
    std::nth_element(sorted.begin(), middle, sorted.begin() + size());
    return *middle;
  }
  // REQUIRES a duration.
  Duration most() const { return std::ranges::max(std::span(values_).first(size())); }
  // REQUIRES a duration.
  Duration least() const { return std::ranges::min(std::span(values_).first(size())); }
  // Mean absolute deviation from the median.
  Duration deviation() const {
    const Duration middle = median();
    Duration sum{};
    for (std::size_t i = 0; i < size(); ++i)
      sum += std::chrono::abs(values_[i] - middle) / static_cast<Duration::rep>(size());
    return sum;
  }

 private:
  std::size_t size() const { return std::min(count_, values_.size()); }

  std::array<Duration, 16> values_{};
  std::size_t count_ = 0;
};

class Patience {
 public:
  // The neighbour sent a vector `rounds` rounds after its previous one. REQUIRES rounds > 0.
  void arrived(Time now, std::uint64_t rounds = 1) {
    if (last_) {
      intervals_.add((now - *last_) / static_cast<Duration::rep>(rounds));
      measured_ = 4 * intervals_.median() + 4 * intervals_.deviation();
      usual_ = intervals_.least();
      longest_ = intervals_.most();
    }
    last_ = now;
  }

  // Both are at least `least`, at most kLimit, and `initial` until the intervals are measured.
  Duration doubt(Duration least, Duration initial) const {
    const Duration value = intervals_.is_measured() ? measured_ : initial;
    return std::clamp<Duration>(value, least, kLimit);
  }
  Duration value(Duration least, Duration initial) const {
    return std::min<Duration>(kLimit, std::max(doubt(least, initial), longest_ * 3 / 2));
  }
  // The shortest recent interval: no vector counts as lost earlier.
  Duration usual() const { return usual_; }
  // The neighbour's vector of a round came `wait` after this node's offer.
  void answered(Duration wait) {
    answers_.add(wait);
    answer_ = answers_.least();
  }
  // The shortest recent time to an answer.
  Duration answer() const { return answer_; }

 private:
  static constexpr Duration kLimit = std::chrono::minutes(10);

  Recent intervals_, answers_;
  Duration measured_{}, usual_{}, longest_{}, answer_{};
  std::optional<Time> last_;
};

// The patience with a neighbour whose intervals are not measured, before its lower limit: four of
// this node's own rounds. A node that joined a running fleet has to wait for its neighbours' first
// round, whose length it does not know.
inline Duration unmeasured_patience(const Recent& own_rounds, bool has_joined) {
  if (own_rounds.is_measured()) return 4 * own_rounds.median();
  return has_joined ? kBlindPatience : Duration{};
}

}  // namespace starling::gossip
