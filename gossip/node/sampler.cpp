#include "gossip/node/sampler.h"

namespace starling::gossip {

Sample Sampler::take(Time now, const Training& training, std::uint64_t sent_bytes,
                     bool is_degraded) {
  next_ = now + period_;
  const RunStatus& run = training.run();
  counters_.push_back({now, run.samples, sent_bytes, training.compute()});
  if (counters_.size() > kSamplesKept) counters_.pop_front();
  Sample sample{.values = {}, .is_degraded = is_degraded};
  const auto set = [&sample](Quantity quantity, double value) {
    sample.values[static_cast<std::size_t>(quantity)] = value;
  };
  if (run.steps > 0) set(Quantity::loss, run.loss);
  if (run.evaluation && run.evaluation->accuracy)
    set(Quantity::accuracy, *run.evaluation->accuracy);
  set(Quantity::round, static_cast<double>(run.round));
  const Counters& first = counters_.front();
  const double elapsed = seconds(now - first.at);
  if (elapsed <= 0) return sample;
  set(Quantity::sample_rate, static_cast<double>(run.samples - first.samples) / elapsed);
  set(Quantity::byte_rate, static_cast<double>(sent_bytes - first.bytes) / elapsed);
  set(Quantity::compute_share, seconds(training.compute() - first.compute) / elapsed);
  return sample;
}

}  // namespace starling::gossip
