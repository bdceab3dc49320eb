#include "gossip/edges/scheduler.h"

#include <algorithm>

#include "base/planted.h"
#include "gossip/edges/patience.h"

namespace starling::gossip {

std::uint64_t Scheduler::next_round(std::uint64_t round, std::uint64_t furthest) const {
  const bool jumps = rules_.rounds_in_step > 0 && furthest > round + rules_.rounds_in_step;
  return jumps ? furthest : round + 1;
}

bool Scheduler::is_far_ahead(const CurrentRound& current, EdgeViews edges) const {
  if (rules_.rounds_in_step == 0) return false;
  std::uint64_t furthest = 0;
  for (const EdgeView& edge : edges)
    if (edge.in && !edge.rests) furthest = std::max(furthest, edge.round);
  return furthest > 0 && current.round > furthest + rules_.rounds_in_step;
}

bool Scheduler::hears(Time now, const CurrentRound& current, const EdgeView& edge,
                      bool is_far_ahead) const {
  if (!edge.in || edge.is_late || edge.rests) return false;
  if (rules_.answers)
    return !edge.pairs.is_waiting || now < std::max(edge.offered, edge.heard) + edge.patience;
  return !edge.was_offered || !lacks(edge, current.round) ||
         now < waits_until(current, edge, is_far_ahead);
}

// A round does not wait for a peer to which it sent no vector: the edge is younger than the offer,
// or the peer is behind and waits itself. Every vector of a peer that catches up restarts the wait.
Time Scheduler::waits_until(const CurrentRound& current, const EdgeView& edge,
                            bool is_far_ahead) const {
  const bool counts = !edge.is_late || (!edge.rests && is_far_ahead);
  if (!edge.in || !edge.was_offered || !counts || !lacks(edge, current.round)) return {};
  const Duration patience = is_far_ahead ? std::max(edge.patience, kBlindPatience) : edge.patience;
  if (PLANTED(never_late)) return kNever;
  return std::max(current.since, edge.heard) + patience;
}

}  // namespace starling::gossip
