// Schedule `matching`: as `rounds`, but in each round a node exchanges with one neighbour, its
// partner in the matching of that round (topology/matching.h), with weight 1/2. A node without a
// partner only steps.
#include <algorithm>

#include "gossip/edges/schedules/waiting.h"

namespace starling::gossip {
namespace {

// As in `rounds`.
constexpr std::uint64_t kMatchedRoundsInStep = 8;
constexpr double kThePartner = 1;

class Matching : public WaitingScheduler {
 public:
  explicit Matching(const Options& options)
      : WaitingScheduler(
            options,
            {.rounds_in_step = kMatchedRoundsInStep, .by_round = true, .same_round_pairs = true},
            kThePartner) {}

  double share(std::size_t) const override { return 0.5; }

  std::vector<NodeId> choose(EdgeViews edges) override {
    const auto partner = std::ranges::find_if(edges, &EdgeView::is_partner);
    if (partner == edges.end()) return {};
    return {partner->peer};
  }

  // A round waits for the partner only once both ends have offered in that round.
  bool offers_late() const override { return false; }

  // A pair's flow applies to all steps until the next pair with any peer.
  double span(const SpanSince&, const SpanSince& any) const override {
    return std::max(any.steps, kFade * any.before);
  }

  // The interval between two vectors of one partner contains rounds with other peers, and their
  // losses, so the time of an answer says when a vector is lost.
  void measure(Time now, std::uint64_t rounds, std::optional<Duration> waited,
               Patience& patience) const override {
    patience.arrived(now, rounds);
    if (waited) patience.answered(*waited);
  }
  Duration usual(const EdgeView&, const Patience& patience) const override {
    return patience.answer();
  }
  bool waits_for_round(const EdgeView& edge) const override { return edge.is_partner; }
  bool offers_over(const EdgeView& edge, std::uint64_t round) const override {
    return edge.is_partner && !skips_round(edge, round);
  }

  // If only this end counted the two as partners in an earlier round, its vector of that round
  // still has no pair. It forms one with the peer's next vector, which both ends leave out; after
  // that both ends have offered equally many.
  bool skips_round(const EdgeView& edge, std::uint64_t round) const override {
    return edge.pairs.is_waiting || std::max(edge.round, edge.pairs.next_round) > round;
  }

  // The peer's round may be known from an acknowledgement, while its vector is still missing.
  bool lacks(const EdgeView& edge, std::uint64_t round) const override {
    return edge.round < round || edge.pairs.has_gap || edge.pairs.is_owed;
  }
};

}  // namespace

std::unique_ptr<Scheduler> make_matching(const Options& options) {
  return std::make_unique<Matching>(options);
}

}  // namespace starling::gossip
