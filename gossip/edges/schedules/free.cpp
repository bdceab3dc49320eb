// Schedule `free`: everybody at its own speed; a round waits for nobody and averages with what has
// come.
#include "gossip/edges/schedules/waiting.h"

namespace starling::gossip {
namespace {

class Free : public WaitingScheduler {
 public:
  explicit Free(const Options& options) : WaitingScheduler({}, 0, pull_of(options)) {}

  bool skips_round(const StreamView& stream, std::uint64_t) const override {
    return stream.is_waiting;
  }
  bool lacks(const StreamView&, std::uint64_t) const override { return false; }
};

}  // namespace

std::unique_ptr<Scheduler> make_free(const Options& options) {
  return std::make_unique<Free>(options);
}

}  // namespace starling::gossip
