// FleetPlan: the machines of a run and the links between them, as a user writes them before there
// is a run. One statement a line, its words parted by blanks; # begins a comment.
//
//   model 40GB                          its parameters, as the trainer holds them
//   step 22.8s                          a local step
//   region us 5 machines 1gbit          each with a link of its own, as fast both ways
//   region home 3 machines 100mbit/500mbit slower 1.5      or up/down; steps take 1.5 times as long
//   link us home 90ms 500mbit           round trip; a connection carries no more
//   link us home 90ms shared 5gbit      or: all connections together carry no more
//   churn 4 a day for 30m               machines of the fleet die; each comes back after that time
//   set optim.local-steps=100           any key of a configuration
//   published 83%                       of the time that machines computed, beside the rehearsal's
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sim/geography.h"

namespace starling::sim {

inline constexpr double kDay_s = 86'400;

struct FleetPlan {
  struct Region {
    std::string name;
    std::size_t machines = 0;
    double up = 0, down = 0;  // bytes per second
    double slower = 1;
  };
  struct Link {
    std::string from, to;
    double round_trip_s = 0;
    double each = 0, shared = 0;  // bytes per second; 0: no limit but those of the machines
  };
  double model_bytes = 0, step_s = 0;
  std::vector<Region> regions;
  std::vector<Link> links;
  double deaths_a_day = 0, away_s = 0;
  std::vector<std::pair<std::string, std::string>> settings;
  std::optional<double> published;  // 0 to 1

  std::size_t machines() const;
  // By how much longer the steps of a machine take; machines are in the order of the regions.
  double slowness(std::size_t machine) const;
  // The slowest link that a vector can have to pass, and where that is, in words.
  std::pair<double, std::string> thinnest() const;
};

// `model` and `step` may be missing: they are 0 then. The error says the line, the value seen and
// those allowed. Every two regions have a link.
Result<FleetPlan> parse_fleet_plan(std::string_view text);

// As if time passed `haste` times as fast: delays are shorter, rates are larger.
std::shared_ptr<const Geography> geography_of(const FleetPlan& plan, double haste = 1);

}  // namespace starling::sim
