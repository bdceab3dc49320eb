#include "gossip/node/rate_watch.h"

#include <fmt/format.h>

#include <cmath>

namespace starling::gossip {

// Of the rates that differ it is that farthest from the mean that says so; of two nodes, both.
void RateWatch::look(Time now, double own, const std::optional<Spread>& all) {
  const auto is_far = [&] {
    if (!(own > 0) || !all || !all->least || !all->most) return false;
    const double mean = all->mean_then.value_or(all->mean), range = *all->most - *all->least;
    const bool differs = *all->most >= kFactor * *all->least;
    return differs && std::abs(own - mean) >= 0.49 * range;
  };
  if (!is_far()) return since_.reset();
  if (!since_) since_ = now;
  own_ = own;
  all_ = *all;
}

std::string RateWatch::warning(Time now) const {
  if (!since_ || now - *since_ < kPatience) return {};
  return fmt::format(
      "steps at a learning rate of {:.3g}, where those of all nodes go from {:.3g} to {:.3g}: a "
      "schedule that counts the steps of its own trainer begins anew at a newcomer; in Python "
      "swarm.schedule(scheduler) counts the network's rounds",
      own_, *all_.least, *all_.most);
}

}  // namespace starling::gossip
