// Suspicion: how long a silent member has to answer before it counts as dead. Every independent
// accuser shortens the time from `most` towards `least` (Dadgar, Phillips, Currey: Lifeguard,
// 2018):
//   timeout = max(least, most - (most - least) log(c + 1) / log(k + 1))
// for c accusers besides the first, of k wanted. The time is shorter for a member whose system
// refuses connections (timing.refused), and for one whose host answers no connection while helpers
// answer this node (timing.unreachable): such a member is not merely stopped or busy.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>

#include "base/ids.h"
#include "base/time.h"
#include "gossip/options.h"

namespace starling::gossip {

class Suspicion {
 public:
  Suspicion(Time since, NodeId accuser) : since_(since), accusers_{accuser} {}

  // Returns whether the accuser counts: it is new, and not enough have accused yet.
  bool accuse(NodeId accuser) {
    return accusers_.size() <= kWanted && accusers_.insert(accuser).second;
  }
  void refuse(Time now) {
    if (refused_ == kNever) refused_ = now;
  }
  bool refused() const { return refused_ != kNever; }
  // A helper answered that the member does not answer it either.
  void confirm() { is_confirmed_ = true; }
  // The member's host answers no connection attempt.
  void miss() { is_missed_ = true; }
  Time since() const { return since_; }
  // This node did not run for `away`, which does not count as silence of the member.
  void postpone(Duration away) {
    since_ += away;
    if (refused()) refused_ += away;
  }

  // When the member counts as dead, in a cluster of `members` members.
  Time ends(const Timing& timing, std::size_t members) const {
    const double scale = std::max(1.0, std::log10(static_cast<double>(members)));
    const double least = seconds(timing.suspicion) * scale;
    const std::size_t wanted = std::min(kWanted, members > 2 ? members - 2 : 0);
    double timeout = least;
    if (wanted > 0) {
      const double share = std::log(static_cast<double>(accusers_.size())) /
                           std::log(static_cast<double>(wanted) + 1);
      timeout = std::max(least, kMost * least - (kMost - 1) * least * share);
    }
    if (is_confirmed_ && is_missed_)
      timeout = std::min(timeout, seconds(timing.unreachable) * scale);
    const Time patient = since_ + from_seconds(timeout);
    return refused() ? std::min(patient, refused_ + timing.refused) : patient;
  }

 private:
  static constexpr std::size_t kWanted = 3;  // accusers besides the first
  static constexpr double kMost = 3;         // times the least

  Time since_;
  Time refused_ = kNever;
  bool is_confirmed_ = false, is_missed_ = false;
  std::set<NodeId> accusers_;
};

}  // namespace starling::gossip
