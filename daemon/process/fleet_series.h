// FleetSeries: what this node knew of all nodes, at the rounds of its own convergence series.
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
  double time_s = 0;  // of the point of the own series
  double age_s = 0;   // of the extremes
  std::optional<gossip::Spread> loss, accuracy, byte_rate;
  std::optional<double> distance;

  bool is_evaluated() const { return false; }
};

class FleetSeries {
 public:
  // Takes the estimates at a point of the own series, unless another was taken shortly before.
  void add(const gossip::Progress& at, const gossip::FleetStatus& fleet);
  // Of round `from` and of later rounds, oldest first; thinned as the own series is.
  std::vector<FleetPoint> points(std::uint64_t from) const { return points_.points(from); }

 private:
  // Shorter: more points within the same hours, which estimates by gossip hardly fill.
  static constexpr double kBetween_s = 2;

  Thinned<FleetPoint> points_;
  std::optional<double> last_s_;
};

}  // namespace starling::daemon
