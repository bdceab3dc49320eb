// Schedule `rounds`: a round averages with the vectors of the same round of all neighbours, or of a
// quorum of them. It waits for each neighbour no longer than its patience. Where the graph changes
// from round to round (topology/sequence.h), the neighbours are those of the round's turns.
#include <algorithm>

#include "base/planted.h"
#include "gossip/edges/schedules/waiting.h"
#include "topology/sequence.h"

namespace starling::gossip {
namespace {

// A node this many rounds behind catches up round by round, so that all nodes take equally many
// local steps: the optimum moves towards nodes that take more. Larger: the nodes ahead wait longer
// for a returning node.
constexpr std::uint64_t kRoundsInStep = 8;

class Rounds : public WaitingScheduler {
 public:
  // With a quorum, offers join the furthest round: otherwise a node that fell behind would never
  // count towards its neighbours' quorums again.
  explicit Rounds(const Options& options)
      : WaitingScheduler(
            options,
            {.rounds_in_step = kRoundsInStep,
             .joins_furthest = options.quorum < 1,
             .by_round = true,
             .same_round_pairs =
                 options.needs.pairing == optim::Pairing::exactly_once && options.quorum >= 1},
            options.quorum),
        has_quorum_(options.quorum < 1) {}

  // A node that is rounds behind the peer catches up first, while the peer waits. A node that has
  // offered more vectors than the peer, which skipped rounds, skips as many.
  bool skips_round(const EdgeView& edge, std::uint64_t round) const override {
    if (has_quorum_) return edge.pairs.is_waiting;
    return std::max(edge.round, edge.pairs.next_round) > round;
  }

  // After a gap the peer has sent a later vector and waits too: only a lost vector can arrive.
  bool lacks(const EdgeView& edge, std::uint64_t round) const override {
    return edge.round < round || edge.pairs.has_gap;
  }

 private:
  const bool has_quorum_;
};

constexpr double kAllTurns = 1;

// The same for nodes that rest between turns, counted in turns. A node's partner may wait for a
// partner of its own, and that one for another, so that nodes are many turns apart. Smaller: a node
// jumps over turns in which a partner waits for it.
constexpr std::uint64_t kTurnsInStep = 32;

// A node without a turn only steps.
class RoundsOfTurns : public WaitingScheduler {
 public:
  explicit RoundsOfTurns(const Options& options)
      : WaitingScheduler(options,
                         {.rounds_in_step = rests(options) ? kTurnsInStep : kRoundsInStep,
                          .by_round = true,
                          .same_round_pairs = true},
                         kAllTurns),
        row_(*options.topology.sequence.row) {}

  double share(const EdgeView& edge, std::size_t) const override { return edge.weight; }

  std::vector<NodeId> choose(EdgeViews edges) override {
    std::vector<NodeId> peers;
    for (const EdgeView& edge : edges)
      if (edge.in_round) peers.push_back(edge.peer);
    return peers;
  }

  // A round waits for a neighbour only once both ends have offered in that round.
  bool offers_late() const override { return false; }

  // Where nodes are hidden, the turns are those of another sequence than the setting's.
  double span(const Spans& spans) const override {
    const topology::SequenceRow& row = spans.sequence ? *spans.sequence : row_;
    const SpanSince& any = spans.any;
    const double steps = row.spreads_flows ? std::max(any.steps, kFade * any.before) : spans.round;
    return steps / (PLANTED(undamped_dual) ? 1 : row.theta);
  }

  // The interval between two vectors of one neighbour contains rounds with other peers, and their
  // losses, so the time of an answer says when a vector is lost.
  void measure(Time now, std::uint64_t rounds, std::optional<Duration> waited,
               Patience& patience) const override {
    patience.arrived(now, rounds);
    if (waited) patience.answered(*waited);
  }
  Duration usual(const EdgeView&, const Patience& patience) const override {
    return patience.answer();
  }
  bool waits_for_round(const EdgeView& edge) const override { return edge.in_round; }
  bool offers_over(const EdgeView& edge, std::uint64_t round) const override {
    return edge.in_round && !skips_round(edge, round);
  }

  // If only this end counted a turn of the two in an earlier round, its vector of that round still
  // has no pair. It forms one with the peer's next vector, which both ends leave out; after that
  // both ends have offered equally many.
  bool skips_round(const EdgeView& edge, std::uint64_t round) const override {
    return edge.pairs.is_waiting || std::max(edge.round, edge.pairs.next_round) > round;
  }

  // The peer's round may be known from an acknowledgement, while its vector is still missing.
  bool lacks(const EdgeView& edge, std::uint64_t round) const override {
    return edge.round < round || edge.pairs.has_gap || edge.pairs.is_owed;
  }

 private:
  static bool rests(const Options& options) { return options.topology.sequence.row->rests; }

  const topology::SequenceRow& row_;
};

}  // namespace

std::unique_ptr<Scheduler> make_rounds(const Options& options) {
  if (options.topology.sequence.moves()) return std::make_unique<RoundsOfTurns>(options);
  return std::make_unique<Rounds>(options);
}

}  // namespace starling::gossip
