#include "gossip/edges/schedules/waiting.h"

#include <algorithm>

#include "base/planted.h"

namespace starling::gossip {

// All shares are halved if pairs are normally averaged a step late, because larger shares make the
// models oscillate.
WaitingScheduler::WaitingScheduler(const Options& options, Rules rules, double quorum)
    : Scheduler(options, rules),
      quorum_(quorum),
      pull_(mixes_rounds(options) && counts_pairs(options) ? 0.5 : 1) {}

// A node without neighbours may get a neighbour before its next offer.
double WaitingScheduler::share(const EdgeView&, std::size_t degree) const {
  return pull_ / ((PLANTED(share_too_large) ? 0.0 : 1.0) +
                  static_cast<double>(std::max<std::size_t>(degree, 1)));
}

std::vector<NodeId> WaitingScheduler::choose(EdgeViews edges) {
  std::vector<NodeId> peers;
  for (const EdgeView& edge : edges) peers.push_back(edge.peer);
  return peers;
}

bool WaitingScheduler::may_finish(Time now, const CurrentRound& current, EdgeViews edges) const {
  if (has_quorum(current, edges) || PLANTED(waits_for_nobody)) return true;
  const bool far_ahead = is_far_ahead(current, edges);
  return std::ranges::none_of(
      edges, [&](const EdgeView& edge) { return now < waits_until(current, edge, far_ahead); });
}

// Whether enough of the peers that were sent this round's vector have sent theirs.
bool WaitingScheduler::has_quorum(const CurrentRound& current, EdgeViews edges) const {
  if (quorum_ >= 1) return false;
  std::size_t asked = 0, spoke = 0;
  for (const EdgeView& edge : edges) {
    if (!edge.in || !edge.was_offered) continue;
    ++asked;
    spoke += !lacks(edge, current.round);
  }
  if (quorum_ == 0) return spoke > 0;
  return static_cast<double>(spoke) >= quorum_ * static_cast<double>(asked);
}

Time WaitingScheduler::deadline(const CurrentRound& current, EdgeViews edges) const {
  const bool far_ahead = is_far_ahead(current, edges);
  Time next = kNever;
  for (const EdgeView& edge : edges)
    if (const Time until = waits_until(current, edge, far_ahead); current.since < until)
      next = std::min(next, until);
  return next;
}

}  // namespace starling::gossip
