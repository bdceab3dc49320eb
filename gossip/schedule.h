// The schedules of exchange.schedule: who exchanges when. One row for each, and in it everything
// that depends on which one it is; settings, checks and help read the row and name no schedule. To
// add one: its file in edges/schedules/, its row in edges/schedules/registry.cpp, its row in
// docs/algorithms.md.
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
  // Nodes are of different rounds as a matter of course.
  bool is_loose = false;
  // Two at a time exchange: for algorithms that average by pairs.
  bool is_pairwise = false;
  // A round waits for the vectors of all neighbours, or of the part that exchange.quorum says.
  bool waits_for_all = false;
  std::unique_ptr<Scheduler> (*make)(const Options& options);
};

// In the order in which people see them. A row lives as long as the program and is told from
// another by its address.
std::span<const ScheduleRow> schedules();
// REQUIRES that there is one of that name: our code names it, not the user.
const ScheduleRow* schedule_named(std::string_view name);

}  // namespace starling::gossip
