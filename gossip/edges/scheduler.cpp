#include "gossip/edges/scheduler.h"

#include <algorithm>

#include "base/planted.h"

namespace starling::gossip {

std::uint64_t Scheduler::next_round(const CurrentRound& current, std::uint64_t furthest) const {
  const std::uint64_t in_step = rules_.rounds_in_step * current.rounds_a_turn;
  const bool jumps = in_step > 0 && furthest > current.round + in_step;
  return jumps ? furthest : current.round + 1;
}

bool Scheduler::is_far_ahead(const CurrentRound& current, EdgeViews edges) const {
  if (rules_.rounds_in_step == 0) return false;
  std::uint64_t furthest = 0;
  for (const EdgeView& edge : edges)
    if (edge.in && !edge.rests) furthest = std::max(furthest, edge.round);
  return furthest > 0 && current.round > furthest + rules_.rounds_in_step * current.rounds_a_turn;
}

// The steps since the last vector over the edge. Where the time between pairs varies, the span is
// at least kFade times the previous one, so that a long wait after a short one does not overshoot:
// exact diffusion would diverge on stars, over matchings and in `async` under loss.
double Scheduler::span(const Spans& spans) const {
  // Where vectors of different rounds are averaged a flow acts one pair later than in step, and
  // with a factor of 1 the models may oscillate for ever. Larger: the flows converge more slowly,
  // in up to this many times the rounds. Smaller: the models oscillate longer, and at 1 a few
  // networks with weak gradients diverge.
  constexpr double kStretch = 2;
  const SpanSince& edge = spans.edge;
  return mixes_rounds_ ? std::max(kStretch * edge.steps, kFade * edge.before) : edge.steps;
}

bool Scheduler::hears(Time now, const CurrentRound& current, const EdgeView& edge,
                      bool is_far_ahead) const {
  if (!edge.counts()) return false;
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
