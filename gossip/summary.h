// Summary: what a whole run came to, from what each of its nodes reported. `starling up` and
// `starling simulate` end with one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gossip/io.h"

namespace starling::gossip {

struct NodeSummary {
  std::string name;
  std::uint64_t round = 0;
  double loss = 0;
  std::optional<double> accuracy, rmse, distance, distance_to_optimum;
  std::uint64_t sent_bytes = 0;
};

// Over all nodes in one round: means, but the root mean square for distance_to_optimum.
struct SeriesPoint {
  std::uint64_t round = 0;
  double time_s = 0;
  double loss = 0;
  std::optional<double> accuracy, rmse, distance, distance_to_optimum;
};

// One point for every round that all nodes have reported.
std::vector<SeriesPoint> network_series(std::span<const std::vector<Progress>> nodes);

}  // namespace starling::gossip
