#include "gossip/node/fleet_watch.h"

#include <cmath>

namespace starling::gossip {

void FleetWatch::sample(Time now, const TrainingProgress& progress, std::uint64_t sent_bytes,
                        bool is_degraded) {
  next_ = now + period_;
  Sample own = sample_of(now, progress, sent_bytes);
  own.is_degraded = is_degraded;
  means_->set(own);
  extremes_->set(own.values);
  past_.add(now, means_->status());
}

FleetStatus FleetWatch::status(Time now) const {
  FleetStatus status = means_->status();
  past_.complete(now, *extremes_, status);
  return status;
}

Sample FleetWatch::sample_of(Time now, const TrainingProgress& progress, std::uint64_t sent_bytes) {
  const RunStatus& run = progress.run();
  counters_.push_back({now, run.samples, sent_bytes, progress.compute()});
  if (counters_.size() > kSamplesKept) counters_.pop_front();
  Sample sample;
  const auto set = [&sample](Quantity quantity, double value) {
    sample.values[static_cast<std::size_t>(quantity)] = value;
  };
  if (run.steps > 0 && std::isfinite(run.loss)) set(Quantity::loss, run.loss);
  if (run.evaluation && run.evaluation->accuracy)
    set(Quantity::accuracy, *run.evaluation->accuracy);
  set(Quantity::round, static_cast<double>(run.round));
  const Counters& first = counters_.front();
  const double elapsed = seconds(now - first.at);
  if (elapsed <= 0) return sample;
  set(Quantity::byte_rate, static_cast<double>(sent_bytes - first.bytes) / elapsed);
  if (!has_data_) return sample;
  set(Quantity::sample_rate, static_cast<double>(run.samples - first.samples) / elapsed);
  set(Quantity::compute_share, seconds(progress.compute() - first.compute) / elapsed);
  return sample;
}

}  // namespace starling::gossip
