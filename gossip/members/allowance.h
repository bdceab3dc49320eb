// Allowance: a token bucket. Something may be done `most` times at once, and after that
// `per_second` times a second.
#pragma once

#include <algorithm>
#include <utility>

#include "base/time.h"

namespace starling::gossip {

class Allowance {
 public:
  Allowance(double most, double per_second, Time now)
      : most_(most), per_second_(per_second), left_(most), counted_(now) {}

  // Whether it may be done now; then it counts as done.
  bool take(Time now) {
    left_ += per_second_ * seconds(now - std::exchange(counted_, now));
    left_ = std::min(left_, most_);
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }

 private:
  double most_, per_second_, left_;
  Time counted_;
};

}  // namespace starling::gossip
