// FleetPast: the means over the fleet of the last minutes, one a period: which way the loss goes,
// and what the means were when something else was taken.
#pragma once

#include <deque>
#include <optional>

#include "base/time.h"
#include "gossip/fleet.h"
#include "gossip/members/extremes.h"

namespace starling::gossip {

class FleetPast {
 public:
  // REQUIRES times that do not fall.
  void add(Time now, const FleetStatus& fleet);

  // The part by which the mean loss has changed over the last minute; 0 where that is no more than
  // its noise; nothing before a few means, or of a loss of 0.
  std::optional<double> loss_change() const;
  // Adds the change of the loss and the extremes, with the means of their time.
  void complete(Time now, const Extremes& extremes, FleetStatus& fleet) const;
  // What the mean was then, by the oldest means that are no older; nothing before there are such.
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
