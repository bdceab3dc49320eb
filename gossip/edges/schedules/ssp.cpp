// Schedule `ssp` (stale synchronous parallel; Ho, Cipar, Cui et al. 2013): as `rounds`, but a
// neighbour's vector may be `staleness` rounds old.
#include "gossip/edges/schedules/waiting.h"

namespace starling::gossip {
namespace {

// Added to the staleness; as in `rounds`.
constexpr std::uint64_t kRoundsInStepBeyond = 8;
constexpr double kAll = 1;

class Ssp : public WaitingScheduler {
 public:
  explicit Ssp(const Options& options)
      : WaitingScheduler(options, {.rounds_in_step = kRoundsInStepBeyond + options.staleness},
                         kAll),
        staleness_(options.staleness) {}

  bool skips_round(const EdgeView& edge, std::uint64_t) const override {
    return edge.pairs.is_waiting;
  }
  bool lacks(const EdgeView& edge, std::uint64_t round) const override {
    return edge.round == 0 || edge.round + staleness_ < round || edge.pairs.has_gap;
  }

 private:
  const std::uint64_t staleness_;
};

}  // namespace

std::unique_ptr<Scheduler> make_ssp(const Options& options) {
  return std::make_unique<Ssp>(options);
}

}  // namespace starling::gossip
