// Sampler: what this node adds to the estimates of the whole fleet, every period: its loss and
// accuracy, and its rates since the sample before.
#pragma once

#include <cstdint>
#include <deque>

#include "base/time.h"
#include "gossip/fleet.h"
#include "gossip/node/training.h"

namespace starling::gossip {

class Sampler {
 public:
  explicit Sampler(Duration period) : period_(period) {}

  bool is_due(Time now) const { return now >= next_; }
  Time deadline() const { return next_; }
  // REQUIRES is_due(now).
  Sample take(Time now, const Training& training, std::uint64_t sent_bytes, bool is_degraded);

 private:
  struct Counters {
    Time at{};
    std::uint64_t samples = 0, bytes = 0;
    Duration compute{};
  };

  // Larger: rates follow more slowly. Smaller: rates jump where a round takes longer than so many
  // periods.
  static constexpr std::size_t kSamplesKept = 16;

  Duration period_;
  Time next_{};
  std::deque<Counters> counters_;  // of the last periods, the oldest first
};

}  // namespace starling::gossip
