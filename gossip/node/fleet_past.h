// FleetPast: the fleet's means of the last minutes, one a period, for the trend of the loss and for
// the means at an earlier time.
#pragma once

#include <deque>
#include <optional>

#include "base/time.h"
#include "gossip/fleet.h"
#include "gossip/members/extremes.h"

namespace starling::gossip {

class FleetPast {
 public:
  // REQUIRES times that do not decrease.
  void add(Time now, const FleetStatus& fleet);

  // The relative change of the mean loss over the last minute; 0 if no more than its noise; nothing
  // before a few means, or at a loss of 0.
  std::optional<double> loss_change() const;
  // Adds the change of the loss, and the extremes with the means of their time.
  void complete(Time now, const Extremes& extremes, FleetStatus& fleet) const;
  // The mean at that time: the first entry since then; nothing if there is none.
  std::optional<double> mean_at(Quantity quantity, Time then) const;

 private:
  struct Entry {
    Time at{};
    PerQuantity<std::optional<double>> means{};
  };

  // Enough for twice the longest epoch of Extremes.
  static constexpr std::size_t kEntriesLimit = 256;

  std::deque<Entry> entries_;  // the oldest first
};

}  // namespace starling::gossip
