// Extremes: the smallest and the largest value of each quantity over all members. They are sent
// with the pings and acks of the failure detector: two members that meet keep the smaller minimum
// and the larger maximum, and after a number of periods that grows with log2 of the members all
// have met all, directly or not (epidemic aggregation; Jelasity, Montresor, Babaoglu 2005).
//
// A minimum cannot rise again, so the exchange runs in epochs: each begins with every member's own
// values, and people see the last finished one. The member that first completes an epoch begins the
// next, and the others follow when its message reaches them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "gossip/fleet.h"
#include "gossip/wire/message.h"

namespace starling::gossip {

class Extremes {
 public:
  struct Range {
    double least = 0, most = 0;
  };

  // `period`: between two pings of a member.
  Extremes(Duration period, Time now) : period_(period), begun_(now), values_of_(now) {}

  // Sets this node's values, from the next epoch on.
  void set(const PerQuantity<std::optional<double>>& own) { own_ = own; }
  // Begins the next epoch when the current one has lasted long enough for `members`.
  void tick(Time now, std::size_t members);
  void receive(Time now, const Ranges& ranges);
  // The ranges for a ping or its ack.
  const Ranges& ranges() const { return current_; }

  // The range in the last finished epoch; nothing if no member had the quantity.
  std::optional<Range> range(Quantity quantity) const;
  // When that epoch began and the members' values were taken.
  Time values_of() const { return values_of_; }

 private:
  void begin(Time now, std::uint64_t epoch);
  void add_own(std::optional<double> value);
  void merge(const Ranges& ranges);

  Duration period_;
  Time begun_, values_of_;
  PerQuantity<std::optional<double>> own_{};
  Ranges current_, last_;
};

}  // namespace starling::gossip
