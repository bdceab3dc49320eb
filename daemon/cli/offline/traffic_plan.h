// TrafficPlan: how many vectors the schedule of a run sends. Of a node with d neighbours, of n:
//   rounds, ssp, async   d              to every neighbour
//   rounds, a sequence   its turns      to the neighbours of the round (topology/sequence.h)
//   pairwise             min(1, d)      one exchange a round
//   allreduce            2 (n - 1) / n  as many parts and means; see optim/combine/slices.h
// With allreduce that is the mean. Of h nodes that sum, each sends h - 1 parts and n - 1 means of
// 1/h vector, (n + h - 2) / h in all, and a hidden node its vector in parts, 1. With exchange.masks
// a part is as long as eight bytes a number (docs/privacy.md).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/settings.h"
#include "gossip/schedule.h"
#include "topology/plan.h"
#include "topology/sequence.h"

namespace starling::daemon {

struct TrafficPlan {
  const gossip::ScheduleRow* schedule = nullptr;
  std::optional<topology::Traffic> sequence = {};  // of topology.sequence; nothing: still
  int hidden = 0;                                  // nodes that nobody can dial
  double part_size = 1;  // of a part of allreduce, beside the same numbers of a vector

  // That a node sends in a round: on average, which it also receives, and at most.
  double mean_vectors(const topology::Plan& plan) const;
  double most_vectors(const topology::Plan& plan) const;

  // The same nodes with the schedule of that name, over the whole graph.
  TrafficPlan with(std::string_view name) const {
    return {.schedule = gossip::schedule_named(name), .hidden = hidden, .part_size = part_size};
  }
};

// exchange.schedule, which for pairwise algorithms is pairwise by default, and exchange.masks, for
// vectors of so many bytes a number. Without hidden nodes and sequence.
TrafficPlan read_traffic_plan(Reader& reader, std::size_t number_bytes);

}  // namespace starling::daemon
