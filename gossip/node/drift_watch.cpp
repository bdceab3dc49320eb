#include "gossip/node/drift_watch.h"

#include <fmt/format.h>

#include <utility>

namespace starling::gossip {

void DriftWatch::look(std::uint64_t round, std::optional<double> distance) {
  if (!distance) return;
  if (round < begun_ || count_ == 0) begun_ = round, sum_ = 0, count_ = 0;
  sum_ += *distance;
  ++count_;
  if (round - begun_ < kRounds) return;
  const double mean = sum_ / count_, before = std::exchange(mean_, mean);
  count_ = 0;
  const bool grows = before > 0 && mean > kGrowth * before;
  if (growths_ == 0 || !grows) first_ = before;
  growths_ = grows ? growths_ + 1 : 0;
}

std::string DriftWatch::warning() const {
  if (growths_ < kGrowths || mean_ < kFar) return {};
  return fmt::format(
      "this node's model drifts away from the others': {:.2g} times as far as the model is long, "
      "and {:.2g} times {} rounds ago; lower optim.learning-rate, or choose a denser graph "
      "(topology.kind); on a graph that mixes slowly optim.algorithm = ed allows a larger one than "
      "gt",
      mean_, first_, kRounds * static_cast<std::uint64_t>(growths_));
}

}  // namespace starling::gossip
