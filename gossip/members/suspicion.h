// Suspicion: how long a silent member has to answer before it counts as dead. Every independent
// accuser shortens the time from `most` towards `least` (Dadgar, Phillips, Currey: Lifeguard,
// 2018):
//   timeout = max(least, most - (most - least) log(c + 1) / log(k + 1))
// for c accusers besides the first, of k wanted. The time is shorter for a member whose system
// refuses connections (timing.refused), and for one whose host answers no connection while helpers
// answer this node (timing.unreachable): such a member is not merely stopped or busy.
//
// The time ends at once when more than k others, and at least two, report that they found the
// member dead; or when one does and the member's system refuses a connection of this node.
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
  // Another member reports that it found the member dead. Returns whether the report counts.
  bool claim_death(NodeId claimant) {
    return claimants_.size() <= kWanted && claimants_.insert(claimant).second;
  }
  bool has_claim() const { return !claimants_.empty(); }
  // Whether that report was counted already.
  bool has_heard(NodeId accuser, bool of_death) const {
    return (of_death ? claimants_ : accusers_).contains(accuser);
  }
  void refuse(Time now) {
    if (refused_ == kNever) refused_ = now;
  }
  bool refused() const { return refused_ != kNever; }
  // A helper sent a nack: the member does not answer it either.
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
    if (claimants_.size() > std::max<std::size_t>(wanted, 1)) return since_;
    const Time patient = since_ + from_seconds(timeout);
    const Duration grace = has_claim() ? Duration{} : timing.refused;
    return refused() ? std::min(patient, refused_ + grace) : patient;
  }

 private:
  static constexpr std::size_t kWanted = 3;  // accusers besides the first
  static constexpr double kMost = 3;         // times the least

  Time since_;
  Time refused_ = kNever;
  bool is_confirmed_ = false, is_missed_ = false;
  std::set<NodeId> accusers_, claimants_;  // kWanted + 1 of each at most
};

}  // namespace starling::gossip
