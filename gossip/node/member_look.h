// MemberLook: when to walk all members again. A walk takes a time that grows with the number of
// members, and each member sends messages. So two walks are at least 20 us times the members apart,
// at most 20 ms, unless the caller has a message or a result of its own. Larger: a large fleet ends
// later. Smaller: with a thousand members each message costs a walk of 40 us.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "base/time.h"

namespace starling::gossip {

class MemberLook {
 public:
  // The next look is due at once.
  void touch(Time now) {
    is_due_ = true;
    next_ = now;
  }
  // Whether a look is due; then it counts as done.
  bool begin(Time now, std::size_t members) {
    const Duration pause = std::min<Duration>(members * kOfMember, kMost);
    if (!std::exchange(is_due_, false) && now < last_ + pause) return false;
    last_ = now;
    return true;
  }
  // `is_busy`: another look is needed though no message comes.
  void end(Time now, bool is_busy) { next_ = is_busy ? now + kMost : kNever; }
  Time deadline() const { return next_; }

 private:
  static constexpr std::chrono::microseconds kOfMember{20};
  static constexpr std::chrono::milliseconds kMost{20};
  Time last_{};
  Time next_ = kNever;
  bool is_due_ = true;
};

}  // namespace starling::gossip
