// RateWatch: whether this node steps at a learning rate far from those of the others for long, as
// where a schedule counts from the begin of each node's own trainer.
#pragma once

#include <optional>
#include <string>

#include "base/time.h"
#include "gossip/fleet.h"

namespace starling::gossip {

class RateWatch {
 public:
  // `own` as it is, and `all` as they were a moment ago.
  void look(Time now, double own, const std::optional<Spread>& all);
  // Empty: it steps as the others do.
  std::string warning(Time now) const;

 private:
  // A warning says which rates differ by that factor, for so long. Smaller: rates that change
  // quickly seem to differ, because those of the others are told late.
  static constexpr double kFactor = 2;
  static constexpr Duration kPatience = std::chrono::seconds(15);

  std::optional<Time> since_;
  double own_ = 0;
  Spread all_;
};

}  // namespace starling::gossip
