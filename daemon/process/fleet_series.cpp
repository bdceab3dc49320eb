#include "daemon/process/fleet_series.h"

namespace starling::daemon {

void FleetSeries::add(const gossip::Progress& at, const gossip::FleetStatus& fleet) {
  using gossip::Quantity;
  if (last_s_ && at.time_s < *last_s_ + kBetween_s) return;
  last_s_ = at.time_s;
  const auto of = [&fleet](Quantity quantity) {
    return fleet.spreads[static_cast<std::size_t>(quantity)];
  };
  points_.add(at.round, false, [&](FleetPoint& kept) {
    kept = {.round = at.round,
            .time_s = at.time_s,
            .age_s = seconds(fleet.extremes_age),
            .loss = of(Quantity::loss),
            .accuracy = of(Quantity::accuracy),
            .byte_rate = of(Quantity::byte_rate),
            .distance = fleet.distance};
  });
}

}  // namespace starling::daemon
