#include "gossip/edges/scheduler.h"

#include <algorithm>

#include "base/planted.h"
#include "gossip/edges/patience.h"

namespace starling::gossip {

std::uint64_t Scheduler::next_round(std::uint64_t round, std::uint64_t furthest) const {
  const bool jumps = rules_.rounds_in_step > 0 && furthest > round + rules_.rounds_in_step;
  return jumps ? furthest : round + 1;
}

bool Scheduler::is_far_ahead(const Turn& turn, Streams streams) const {
  if (rules_.rounds_in_step == 0) return false;
  std::uint64_t furthest = 0;
  for (const StreamView& stream : streams)
    if (stream.in && !stream.rests) furthest = std::max(furthest, stream.round);
  return furthest > 0 && turn.round > furthest + rules_.rounds_in_step;
}

bool Scheduler::hears(Time now, const Turn& turn, const StreamView& stream,
                      bool is_far_ahead) const {
  if (!stream.in || stream.is_late || stream.rests) return false;
  if (rules_.answers)
    return !stream.pairs.is_waiting ||
           now < std::max(stream.offered, stream.heard) + stream.patience;
  return !stream.was_offered || !lacks(stream, turn.round) ||
         now < waits_until(turn, stream, is_far_ahead);
}

// A round does not wait for a peer to which it sent no vector: the edge is younger than the offer,
// or the peer is behind and waits itself. Every vector of a peer that catches up restarts the wait.
Time Scheduler::waits_until(const Turn& turn, const StreamView& stream, bool is_far_ahead) const {
  const bool counts = !stream.is_late || (!stream.rests && is_far_ahead);
  if (!stream.in || !stream.was_offered || !counts || !lacks(stream, turn.round)) return {};
  const Duration patience =
      is_far_ahead ? std::max(stream.patience, kBlindPatience) : stream.patience;
  if (PLANTED(never_late)) return kNever;
  return std::max(turn.since, stream.heard) + patience;
}

}  // namespace starling::gossip
