// Schedule `allreduce`: as `rounds` on a complete graph, but a round has two vectors on each edge:
// parts of the vector for the nodes that sum them, and then the means (optim/combine/slices.h). It
// waits for the parts and for the means of each neighbour, no longer than its patience. A neighbour
// whose part is late is sent a notice that there is no mean, and both ends leave the pair out.
#include <algorithm>

#include "gossip/edges/schedules/waiting.h"

namespace starling::gossip {
namespace {

// As in `rounds`.
constexpr std::uint64_t kSlicedRoundsInStep = 8;
constexpr double kAllOfThem = 1;

class AllReduce : public WaitingScheduler {
 public:
  explicit AllReduce(const Options& options)
      : WaitingScheduler(options,
                         {.rounds_in_step = kSlicedRoundsInStep,
                          .by_round = true,
                          .same_round_pairs = true,
                          .vectors = 2,
                          .answers = true},
                         kAllOfThem) {}

  // Every peer that was sent a part gets a mean, or a notice that there is none.
  std::vector<NodeId> answers(EdgeViews edges, const AnswerState& state,
                              bool may_finish) const override {
    std::vector<NodeId> peers;
    if (!state.is_unanswered || !may_finish) return peers;
    for (const EdgeView& edge : edges)
      if (edge.pairs.owes_mean) peers.push_back(edge.peer);
    return peers;
  }

  // A mean follows its part at once.
  Duration usual(const EdgeView& edge, const Patience& patience) const override {
    return edge.pairs.owes_mean ? Duration{} : patience.usual();
  }

  // After its part this end always sends a mean, or a notice that there is none.
  bool skips_round(const EdgeView& edge, std::uint64_t round) const override {
    return !edge.pairs.owes_mean && std::max(edge.round, edge.pairs.next_round) > round;
  }

  // A peer that offers no part in this round sends no mean to wait for: it may itself wait for
  // nodes that wait for this one. A peer that is ahead has sent its mean.
  bool lacks(const EdgeView& edge, std::uint64_t round) const override {
    return edge.round < round || edge.pairs.has_gap || edge.pairs.is_owed ||
           (edge.round == round && edge.pairs.mean_of == round);
  }
};

}  // namespace

std::unique_ptr<Scheduler> make_allreduce(const Options& options) {
  return std::make_unique<AllReduce>(options);
}

}  // namespace starling::gossip
