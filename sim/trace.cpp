#include "sim/trace.h"

#include <algorithm>

#include "sim/simulation.h"

namespace starling::sim {

void Trace::record() {
  if (interval_ == Duration{}) return;
  const std::size_t records_limit = std::max<std::size_t>(kNodesLimit / world_->options().nodes, 2);
  if (records_.size() == records_limit) thin();
  gossip::TraceRecord& now = records_.emplace_back();
  now.time_s = seconds(world_->now());
  for (std::size_t node : world_->running()) now.nodes.push_back(report(*world_, node));
}

Time Trace::due() const {
  return interval_ == Duration{} ? kNever : world_->now() + interval_;
}

void Trace::thin() {
  for (std::size_t k = 0; 2 * k < records_.size(); ++k) records_[k] = std::move(records_[2 * k]);
  records_.resize((records_.size() + 1) / 2);
  interval_ *= 2;
}

}  // namespace starling::sim
