// Schedule `async`: a round waits for a new vector of any one neighbour.
#include "gossip/edges/schedules/waiting.h"

namespace starling::gossip {
namespace {

constexpr double kAnyOne = 0;

class Async : public WaitingScheduler {
 public:
  explicit Async(const Options& options) : WaitingScheduler(options, {}, kAnyOne) {}

  bool skips_round(const EdgeView& edge, std::uint64_t) const override {
    return edge.pairs.is_waiting;
  }
  bool lacks(const EdgeView& edge, std::uint64_t) const override { return !edge.has_news; }
};

}  // namespace

std::unique_ptr<Scheduler> make_async(const Options& options) {
  return std::make_unique<Async>(options);
}

}  // namespace starling::gossip
