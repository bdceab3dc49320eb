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

// The last sixteen of what took time.
class Recent {
 public:
  void add(Duration duration) { values_[count_++ % values_.size()] = duration; }
  // Fewer say little.
  bool is_measured() const { return count_ >= 3; }
  // REQUIRES one.
  Duration median() const { return sorted()[size() / 2]; }
  // Mean absolute deviation from the median.
  Duration deviation() const {
    const Duration middle = median();
    Duration sum{};
    for (std::size_t i = 0; i < size(); ++i)
      sum += std::chrono::abs(values_[i] - middle) / static_cast<Duration::rep>(size());
    return sum;
  }

 private:
  using Values = std::array<Duration, 16>;

  std::size_t size() const { return std::min(count_, values_.size()); }
  Values sorted() const {
    Values sorted = values_;
    std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(size()));
    return sorted;
  }

  Values values_{};
  std::size_t count_ = 0;
};

class Patience {
 public:
  void arrived(Time now) {
    if (last_) {
      intervals_.add(now - *last_);
      measured_ = 4 * intervals_.median() + 4 * intervals_.deviation();
    }
    last_ = now;
  }
  // A gap that was not the neighbour's doing (it was out of step) is not measured.
  void restart() { last_.reset(); }

  Duration value(Duration least, Duration initial) const {
    if (!intervals_.is_measured()) return initial;
    return std::clamp<Duration>(measured_, least, std::chrono::minutes(1));
  }

 private:
  Recent intervals_;
  Duration measured_{};
  std::optional<Time> last_;
};

}  // namespace starling::gossip
