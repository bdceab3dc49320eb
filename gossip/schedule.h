// The schedules of exchange.schedule: when neighbours exchange. Each schedule has one row, which
// holds everything that depends on it; settings, checks and help read the row. To add a schedule: a
// file and a row in gossip/edges/schedules/, a card in docs/choosing.md. To add a new kind of
// exchange, such as one in slices: a flag here and each file that reads it, among them
// gossip/edges/edge_rules.h and exchange.cpp, daemon/setup/legality.cpp and
// daemon/cli/offline/traffic_plan.cpp.
#pragma once

#include <memory>
#include <span>
#include <string_view>

namespace starling::gossip {

struct Options;
class Scheduler;

struct ScheduleRow {
  std::string_view name;
  std::string_view help;  // for `starling config`: what a round waits for
  // Nodes are normally in different rounds.
  bool is_loose = false;
  // Two nodes at a time exchange: for algorithms that average by pairs.
  bool is_pairwise = false;
  // Each node sums one slice of the vector for all; see optim/combine/slices.h. All nodes must be
  // neighbours.
  bool is_in_slices = false;
  // A round waits for the vectors of all neighbours that it exchanges with, or of the part
  // exchange.quorum. The neighbours may change from round to round (topology.sequence).
  bool waits_for_all = false;
  // Whether a round has the same number at all nodes, which wait for each other.
  bool goes_in_step() const { return !is_loose && !is_pairwise; }

  std::unique_ptr<Scheduler> (*make)(const Options& options);
};

// In the order in which help lists them. Rows are static; compare them by address.
std::span<const ScheduleRow> schedules();
// REQUIRES that the schedule exists: the name comes from our code, not from the user.
const ScheduleRow* schedule_named(std::string_view name);

}  // namespace starling::gossip
