// Simulation: n nodes that start together and train until all are finished, and what came of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/options.h"
#include "sim/series.h"
#include "sim/world.h"

namespace starling::sim {

struct NodeSummary {
  std::string name;
  std::uint64_t round = 0;
  std::optional<double> loss, accuracy;
  std::optional<double> distance;             // ||x_i - mean|| / ||mean||, exact
  std::optional<double> distance_to_optimum;  // ||x_i - x*||, exact
  std::uint64_t sent_bytes = 0;               // of parameters
};

// As the first node that runs sees them at the end.
struct MembersSummary {
  std::size_t alive = 0, suspect = 0, dead = 0, left = 0;
};

struct GoalSummary {
  bool reached = false;     // by all nodes that run
  std::uint64_t round = 0;  // the highest
  gossip::Goal wanted;
};

struct Summary {
  std::vector<NodeSummary> nodes;  // those that run at the end
  std::vector<Point> series;
  GoalSummary goal;
  MembersSummary members;
  double virtual_s = 0;
  std::uint64_t seed = 0;
  std::uint64_t event_hash = 0;
  std::uint64_t events = 0;
  std::vector<std::string> violations;  // of the laws in checker.h; none is as it should be
};

// All nodes start at time 0, know node-0 and wait for each other before round 1. Ends when all are
// finished, or at the limit of virtual time.
Summary simulate(Options options, TrainerFactory make_trainer);

// The nodes of a world as they are now.
std::vector<NodeSummary> summarize_nodes(const World& world);

}  // namespace starling::sim
