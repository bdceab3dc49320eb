// Simulation: n nodes that start together and train until all are finished, and what came of it.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "gossip/report/summary.h"
#include "sim/ledger.h"
#include "sim/options.h"
#include "sim/world.h"

namespace starling::sim {

// Is told of every round of every node as it is completed.
using Listener = std::function<void(std::size_t node, Time now, const gossip::Progress& progress)>;

// All nodes start at time 0, know node-0 and wait for each other before round 1. Ends when all are
// finished, or at the limit of virtual time.
gossip::Summary simulate(Options options, TrainerFactory make_trainer, const Listener& told = {});

// What a node says of itself: the state after its last whole round, its distance from the mean as
// it estimates that. REQUIRES that it runs.
gossip::NodeSummary report(const World& world, std::size_t node);

// The nodes of a world as they are now, measured on their models.
std::vector<gossip::NodeSummary> summarize_nodes(const World& world);
// As the first running node sees them; none where nobody runs.
gossip::MembersSummary count_members(const World& world);
// ||a - b||. REQUIRES vectors of one length.
double distance(std::span<const double> a, std::span<const double> b);
std::vector<gossip::Breach> breaches(std::span<const Violation> violations);

}  // namespace starling::sim
