// Schedule `pairwise` (AD-PSGD; Lian, Zhang, Zhang, Liu 2018): a vector goes to one neighbour,
// drawn by chance among those whose edge is free of pairs that are not whole, and the peer answers
// with one of its own; each pair is averaged with weight 1/2. Others propose meanwhile.
#include <algorithm>
#include <cstddef>

#include "base/prng.h"
#include "gossip/edges/scheduler.h"

namespace starling::gossip {
namespace {

// With this many young proposals the next step waits. More: less time lost with slow neighbours,
// and averaging with older vectors, each of which pulls by a half. Flows diverge with more than
// one.
constexpr std::ptrdiff_t kProposalsLimit = 2;
constexpr std::ptrdiff_t kFlowProposalsLimit = 1;
// A proposal is young for this many times what half of the answers take.
constexpr int kYoung = 4;

class Pairwise : public Scheduler {
 public:
  explicit Pairwise(const Options& options)
      : Scheduler({.answers = true}),
        prng_(Prng::derive(options.seed, stable_hash("pair " + options.name))),
        initial_(options.timing.patience_initial),
        counts_flows_(options.needs.delivery == optim::Delivery::exactly_once) {}

  double share(std::size_t) const override { return 0.5; }

  std::vector<NodeId> choose(Streams streams) override {
    std::vector<NodeId> free;
    for (const StreamView& stream : streams)
      if (stream.is_two_way() && !stream.is_waiting && !stream.is_asked)
        free.push_back(stream.peer);
    is_starved_ = free.empty();
    if (is_starved_) return {};
    return {free[prng_.below(free.size())]};
  }

  bool skips_round(const StreamView&, std::uint64_t) const override { return false; }

  bool lacks(const StreamView& stream, std::uint64_t round) const override {
    return stream.round < round || stream.has_gap;
  }

  // So few young proposals wait that the next local step may begin.
  bool may_finish(Time now, const Turn& turn, Streams streams) const override {
    // A node all of whose edges are taken would step on alone.
    const bool is_strict = counts_flows_ || is_starved_;
    const auto limit = is_strict ? kFlowProposalsLimit : kProposalsLimit;
    const auto waits = [&](const StreamView& stream) {
      return is_proposal(stream) && now < young_until(turn, stream);
    };
    return std::ranges::count_if(streams, waits) < limit;
  }

  Time deadline(const Turn& turn, Streams streams) const override {
    Time next = kNever;
    for (const StreamView& stream : streams)
      if (is_proposal(stream)) next = std::min(next, young_until(turn, stream));
    return next;
  }

 private:
  static bool is_proposal(const StreamView& stream) {
    return stream.is_two_way() && stream.is_waiting;
  }
  Time young_until(const Turn& turn, const StreamView& stream) const {
    return stream.offered + (turn.pair_time ? kYoung * *turn.pair_time : initial_);
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
