// Schedule `rounds`: a round averages with the vectors of the same round of all neighbours, or of a
// quorum of them. It waits for each neighbour no longer than its patience.
#include <algorithm>

#include "gossip/edges/schedules/waiting.h"

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

}  // namespace

std::unique_ptr<Scheduler> make_rounds(const Options& options) {
  return std::make_unique<Rounds>(options);
}

}  // namespace starling::gossip
