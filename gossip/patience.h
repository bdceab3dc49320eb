// Patience: how long a round waits for one neighbour, from the neighbour's own arrivals:
//   4 * median interval + 4 * mean absolute deviation, over the last 16,
// bounded below by the jitter of the machine and above by a minute. Larger waits longer for a node
// that is gone; smaller goes on without a node that is only late.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>

#include "base/time.h"

namespace starling::gossip {

class Patience {
 public:
  void arrived(Time now) {
    if (last_) {
      intervals_[count_++ % intervals_.size()] = now - *last_;
      measured_ = measure();
    }
    last_ = now;
  }
  // A gap that was not the neighbour's doing (it was out of step) is not measured.
  void restart() { last_.reset(); }

  Duration value(Duration least, Duration initial) const {
    constexpr std::size_t kEnough = 3;
    if (count_ < kEnough) return initial;
    return std::clamp<Duration>(measured_, least, std::chrono::minutes(1));
  }

 private:
  Duration measure() const {
    const std::size_t size = std::min(count_, intervals_.size());
    auto sorted = intervals_;
    std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(size));
    const Duration median = sorted[size / 2];
    Duration deviation{};
    for (std::size_t i = 0; i < size; ++i)
      deviation += std::chrono::abs(sorted[i] - median) / static_cast<Duration::rep>(size);
    return 4 * median + 4 * deviation;
  }

  std::array<Duration, 16> intervals_{};
  std::size_t count_ = 0;
  Duration measured_{};
  std::optional<Time> last_;
};

}  // namespace starling::gossip
