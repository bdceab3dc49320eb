// Schedule `async`: a round waits for a new vector of any one neighbour.
#include "gossip/edges/schedules/waiting.h"

namespace starling::gossip {
namespace {

constexpr double kAnyOne = 0;

class Async : public WaitingScheduler {
 public:
  explicit Async(const Options& options)
      : WaitingScheduler({.mixes_rounds = true}, kAnyOne, pull_of(options)) {}

  bool skips_round(const StreamView& stream, std::uint64_t) const override {
    return stream.pairs.is_waiting;
  }
  bool lacks(const StreamView& stream, std::uint64_t) const override { return !stream.has_news; }
};

}  // namespace

std::unique_ptr<Scheduler> make_async(const Options& options) {
  return std::make_unique<Async>(options);
}

}  // namespace starling::gossip
