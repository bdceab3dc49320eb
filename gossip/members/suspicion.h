// Suspicion: how long a silent member has to answer before it is taken for dead. With every
// independent accuser the time shrinks from the most to the least (Dadgar, Phillips, Currey:
// Lifeguard, 2018):
//   timeout = max(least, most - (most - least) log(c + 1) / log(k + 1))
// for c accusers beside the first of k that are wanted. A member at whose address the system
// answers that nobody listens needs no more than a moment in which a restart may be noticed; one
// whose host answers nothing while this node's network works, less than one that may be stopped.
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

  // False when it is known already, or enough have accused.
  bool accuse(NodeId accuser) {
    return accusers_.size() <= kWanted && accusers_.insert(accuser).second;
  }
  void refuse(Time now) {
    if (refused_ == kNever) refused_ = now;
  }
  bool refused() const { return refused_ != kNever; }
  // Helpers of this node's probe answered that they hear nothing either.
  void confirm() { is_confirmed_ = true; }
  // The host answers no connection.
  void miss() { is_missed_ = true; }
  Time since() const { return since_; }
  // The owner was away for that long: the silence was its own.
  void postpone(Duration away) {
    since_ += away;
    if (refused()) refused_ += away;
  }

  // When the member is taken for dead, among `members` members.
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
  static constexpr std::size_t kWanted = 3;  // accusers beside the first
  static constexpr double kMost = 3;         // times the least

  Time since_;
  Time refused_ = kNever;
  bool is_confirmed_ = false, is_missed_ = false;
  std::set<NodeId> accusers_;
};

}  // namespace starling::gossip
