// Refusals: the vectors of one peer that the trainer did not average because of the peer's fault,
// and when its edge is to be closed for a pause: after kMost refusals in a row. If the first
// vectors after the pause are refused again, the next pause is twice as long. Refusals are in a row
// if the trainer got at most kUnderWay other vectors of the peer in between.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "base/time.h"

namespace starling::gossip {

class Refusals {
 public:
  static constexpr int kMost = 16;      // fewer: one broken moment costs an edge
  static constexpr int kMostAgain = 2;  // fewer are allowed after a pause
  static constexpr int kUnderWay = 4;   // vectors in jobs that the trainer has not ended
  static constexpr int kForgiven = 16;  // so many vectors without a refusal end the history
  static constexpr Duration kFirstPause = std::chrono::seconds(8);
  static constexpr Duration kLongestPause = std::chrono::minutes(10);

  // Records that the trainer gets a vector of the peer.
  void take() {
    since_ = std::min(since_ + 1, kForgiven);
    if (since_ < kForgiven) return;
    reason_.clear();
    in_a_row_ = 0;
    pause_ = {};
  }
  // Records that the trainer refused a vector of the peer. `reason`: of optim::Rejection.
  void refuse(const std::string& reason) {
    in_a_row_ = since_ <= kUnderWay ? in_a_row_ + 1 : 1;
    since_ = 0;
    reason_ = reason;
  }
  // The reason of the last refusal; empty: none among the last kForgiven vectors.
  const std::string& reason() const { return reason_; }
  // Whether the edge was closed for refusals and the history has not ended since.
  bool is_on_probation() const { return pause_ > Duration{}; }
  // For how long the edge is to be closed from now on, if it is. Returned once.
  std::optional<Duration> take_pause() {
    if (in_a_row_ < (pause_ == Duration{} ? kMost : kMostAgain)) return std::nullopt;
    in_a_row_ = 0;
    pause_ = std::clamp(2 * pause_, kFirstPause, kLongestPause);
    return pause_;
  }

 private:
  std::string reason_;
  int since_ = 0, in_a_row_ = 0;
  Duration pause_{};  // the last pause; 0: none
};

}  // namespace starling::gossip
