// Schedule `pairwise` (AD-PSGD; Lian, Zhang, Zhang, Liu 2018): in each round a node sends its
// vector to one neighbour (a proposal), drawn at random among those whose edge has no incomplete
// pair. The peer answers with its own vector, and both ends average the pair with weight 1/2. Other
// neighbours may propose to the node meanwhile.
#include <algorithm>
#include <cstddef>

#include "base/prng.h"
#include "gossip/edges/scheduler.h"

namespace starling::gossip {
namespace {

// The next step waits while this many proposals are young. Larger: less time is lost with slow
// neighbours, but pairs are of older vectors, each with weight 1/2; flows diverge above 1.
constexpr std::ptrdiff_t kProposalsLimit = 2;
constexpr std::ptrdiff_t kFlowProposalsLimit = 1;
// A proposal is young for this many times the median time of an answer.
constexpr int kYoung = 4;

class Pairwise : public Scheduler {
 public:
  explicit Pairwise(const Options& options)
      : Scheduler(options, {.answers = true}),
        prng_(Prng::derive(options.seed, stable_hash("pair " + options.name))),
        initial_(options.timing.patience_initial),
        counts_flows_(options.needs.pairing == optim::Pairing::exactly_once) {}

  double share(const EdgeView&, std::size_t) const override { return 0.5; }

  std::vector<NodeId> choose(EdgeViews edges) override {
    std::vector<NodeId> free;
    for (const EdgeView& edge : edges)
      if (edge.is_two_way() && !edge.pairs.is_waiting && !edge.pairs.is_asked)
        free.push_back(edge.peer);
    is_starved_ = free.empty();
    if (is_starved_) return {};
    return {free[prng_.below(free.size())]};
  }

  // The first whose half of a pair waits: one job offers one vector.
  std::vector<NodeId> answers(EdgeViews edges, const AnswerState& state, bool) const override {
    if (state.is_resting) return {};
    for (const EdgeView& edge : edges)
      if (edge.pairs.is_asked) return {edge.peer};
    return {};
  }
  bool marks_late() const override { return false; }
  bool is_answered_by(const PairState& pairs) const override { return pairs.is_waiting; }

  double span(const Spans& spans) const override {
    return std::max(spans.edge.steps, kFade * spans.edge.before);
  }

  bool skips_round(const EdgeView&, std::uint64_t) const override { return false; }

  bool lacks(const EdgeView& edge, std::uint64_t round) const override {
    return edge.round < round || edge.pairs.has_gap;
  }

  // Whether no pair waits, or the answer is within the patience.
  bool hears(Time now, const CurrentRound&, const EdgeView& edge, bool) const override {
    return edge.counts() &&
           (!edge.pairs.is_waiting || now < std::max(edge.offered, edge.heard) + edge.patience);
  }

  // The next local step may begin when few young proposals wait.
  bool may_finish(Time now, const CurrentRound& current, EdgeViews edges) const override {
    // A node without a free edge would otherwise take steps without averaging.
    const bool is_strict = counts_flows_ || is_starved_;
    const auto limit = is_strict ? kFlowProposalsLimit : kProposalsLimit;
    const auto waits = [&](const EdgeView& edge) {
      return is_proposal(edge) && now < young_until(current, edge);
    };
    return std::ranges::count_if(edges, waits) < limit;
  }

  Time deadline(const CurrentRound& current, EdgeViews edges) const override {
    Time next = kNever;
    for (const EdgeView& edge : edges)
      if (is_proposal(edge)) next = std::min(next, young_until(current, edge));
    return next;
  }

 private:
  static bool is_proposal(const EdgeView& edge) {
    return edge.is_two_way() && edge.pairs.is_waiting;
  }
  // Without a free edge and with no young proposal, a node takes one step per time of an answer.
  Time young_until(const CurrentRound& current, const EdgeView& edge) const {
    const Duration usual = current.pair_time.value_or(initial_ / kYoung);
    const Time young = edge.offered + kYoung * usual;
    return is_starved_ ? std::max(young, current.since + usual) : young;
  }

  Prng prng_;
  const Duration initial_;
  const bool counts_flows_;
  bool is_starved_ = false;  // no edge was free at the last step
};

}  // namespace

std::unique_ptr<Scheduler> make_pairwise(const Options& options) {
  return std::make_unique<Pairwise>(options);
}

}  // namespace starling::gossip
