// Schedule `rounds`: all neighbours' vectors of the same round, or those of a quorum of them. A
// round waits for every neighbour that lives, for none longer than its patience.
#include <algorithm>

#include "gossip/edges/schedules/waiting.h"

namespace starling::gossip {
namespace {

// A node this many rounds behind is still in step: it catches up round by round, so that all take
// equally many local steps; the optimum moves towards those who take more. Larger: those ahead wait
// longer for one that comes back.
constexpr std::uint64_t kRoundsInStep = 8;

class Rounds : public WaitingScheduler {
 public:
  // Where a quorum goes on, who is behind would never count for the others again.
  explicit Rounds(const Options& options)
      : WaitingScheduler(
            {.rounds_in_step = kRoundsInStep,
             .joins_furthest = options.quorum < 1,
             .by_round = true,
             .same_round_pairs =
                 options.needs.delivery == optim::Delivery::exactly_once && options.quorum >= 1},
            options.quorum, pull_of(options)),
        has_quorum_(options.quorum < 1) {}

  // A node that is behind in rounds catches up first: its neighbours wait for it. A node that is
  // ahead in number, since the peer skipped rounds, skips as many.
  bool skips_round(const StreamView& stream, std::uint64_t round) const override {
    if (has_quorum_) return stream.is_waiting;
    return std::max(stream.round, stream.next_pair_round) > round;
  }

  // After a gap the peer waits itself; only a lost vector can still come.
  bool lacks(const StreamView& stream, std::uint64_t round) const override {
    return stream.round < round || stream.has_gap;
  }

 private:
  const bool has_quorum_;
};

}  // namespace

std::unique_ptr<Scheduler> make_rounds(const Options& options) {
  return std::make_unique<Rounds>(options);
}

}  // namespace starling::gossip
