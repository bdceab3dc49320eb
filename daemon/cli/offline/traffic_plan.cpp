#include "daemon/cli/offline/traffic_plan.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "optim/algorithms/registry.h"
#include "optim/combine/masked_parts.h"

namespace starling::daemon {

double TrafficPlan::mean_vectors(const topology::Plan& plan) const {
  if (schedule->is_in_slices) return (1 + part_size) * (plan.n - 1.0) / plan.n;
  if (sequence) return sequence->mean_turns;
  if (schedule->is_pairwise) return std::min(1.0, plan.degree.mean);
  return plan.degree.mean;
}

double TrafficPlan::most_vectors(const topology::Plan& plan) const {
  const double hubs = plan.n - hidden;
  if (schedule->is_in_slices) return hubs > 0 ? (plan.n - 1 + part_size * (hubs - 1)) / hubs : 0;
  if (sequence) return sequence->most_turns;
  return schedule->is_pairwise ? std::min(1, plan.degree.most) : plan.degree.most;
}

TrafficPlan read_traffic_plan(Reader& reader, std::size_t number_bytes) {
  std::vector<std::string_view> names;
  for (const gossip::ScheduleRow& row : gossip::schedules()) names.push_back(row.name);
  TrafficPlan plan{.schedule = &gossip::schedules()[reader.choice("exchange.schedule", names)]};
  const auto* algorithm = optim::find_algorithm(reader.text("optim.algorithm"));
  if (algorithm && algorithm->needs.is_pairwise && reader.is_default("exchange.schedule"))
    plan.schedule = gossip::schedule_named("pairwise");
  if (reader.flag("exchange.masks"))
    plan.part_size = static_cast<double>(optim::kMaskedWidth) / static_cast<double>(number_bytes);
  return plan;
}

}  // namespace starling::daemon
