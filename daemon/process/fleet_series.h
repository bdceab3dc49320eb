// FleetSeries: this node's estimates for all nodes, at rounds of its own convergence series.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/thinned.h"
#include "gossip/fleet.h"
#include "gossip/io.h"

namespace starling::daemon {

struct FleetPoint {
  std::uint64_t round = 0;
  double time_s = 0;  // of the point of this node's series
  double age_s = 0;   // of the extremes
  std::optional<gossip::Spread> loss, accuracy, byte_rate;
  std::optional<double> distance;

  bool is_evaluated() const { return false; }
};

class FleetSeries {
 public:
  // Adds the estimates at a point of this node's series, unless the last are within kBetween_s.
  void add(const gossip::Progress& at, const gossip::FleetStatus& fleet);
  // The points of round `from` and of later rounds, oldest first; thinned as this node's series.
  std::vector<FleetPoint> points(std::uint64_t from) const { return points_.points(from); }

 private:
  // Shorter: more points in the same time, although estimates by gossip change slowly.
  static constexpr double kBetween_s = 2;

  Thinned<FleetPoint> points_;
  std::optional<double> last_s_;
};

}  // namespace starling::daemon
