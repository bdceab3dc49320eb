// FleetWatch: adds this node's sample to the estimates of the fleet every period (loss, accuracy
// and recent rates), and reads the estimates.
#pragma once

#include <cstdint>
#include <deque>

#include "base/time.h"
#include "gossip/edges/fleet_means.h"
#include "gossip/fleet.h"
#include "gossip/members/extremes.h"
#include "gossip/node/fleet_past.h"
#include "gossip/node/training_progress.h"
#include "gossip/wire/send_meter.h"

namespace starling::gossip {

class FleetWatch {
 public:
  // `means` and `extremes` outlive this.
  FleetWatch(const Options& options, FleetMeans& means, Extremes& extremes)
      : period_(options.timing.period),
        has_data_(!is_relay(options)),
        means_(&means),
        extremes_(&extremes) {}

  bool is_due(Time now) const { return now >= next_; }
  // REQUIRES is_due(now).
  void sample(Time now, const TrainingProgress& progress, std::uint64_t sent_bytes,
              bool is_degraded);
  FleetStatus status(Time now) const;
  // How this node sends; to be told at each step.
  SendMeter& sends() { return sends_; }
  const SendMeter& sends() const { return sends_; }

 private:
  struct Counters {
    Time at{};
    std::uint64_t samples = 0, bytes = 0;
    Duration compute{};
  };

  // Larger: rates follow more slowly. Smaller: rates jump if a round takes longer than so many
  // periods.
  static constexpr std::size_t kSamplesKept = 16;

  Sample sample_of(Time now, const TrainingProgress& progress, std::uint64_t sent_bytes);

  Duration period_;
  bool has_data_;
  FleetMeans* means_;
  Extremes* extremes_;
  Time next_{};
  std::deque<Counters> counters_;  // of the last periods, the oldest first
  FleetPast past_;
  SendMeter sends_;
};

}  // namespace starling::gossip
