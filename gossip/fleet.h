// Quantity, Sample, FleetStatus: a node's estimates of the whole fleet, by gossip alone.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "base/time.h"

namespace starling::gossip {

// The fleet's mean and extremes of these are estimated.
enum class Quantity : std::size_t {
  loss,          // training loss of the last local step
  accuracy,      // of the last evaluation, a fraction
  round,         // rounds completed
  sample_rate,   // samples per second, recently
  byte_rate,     // bytes sent per second, recently
  compute_share  // part of the recent time spent in local steps and evaluation
};
inline constexpr std::size_t kQuantities = 6;
template <class T>
using PerQuantity = std::array<T, kQuantities>;

// What one node adds to the estimates. Empty: the node does not have the quantity.
struct Sample {
  PerQuantity<std::optional<double>> values{};
  bool is_degraded = false;
};

// Whether any node can have that value of the quantity.
constexpr bool is_possible(Quantity quantity, double value) {
  if (quantity == Quantity::loss) return true;
  const bool is_share = quantity == Quantity::accuracy || quantity == Quantity::compute_share;
  return value >= 0 && (!is_share || value <= 1);
}

// A quantity over all nodes that have it. `error` is the possible error of the mean: how far the
// neighbours' estimates differ from this node's.
struct Spread {
  double mean = 0, error = 0;
  std::optional<double> least = {}, most = {};  // as they were extremes_age ago
  std::optional<double> mean_then = {};         // the mean of that time, between these two
};

struct FleetStatus {
  PerQuantity<std::optional<Spread>> spreads{};
  // Root mean square of ||x_i - mean|| over all nodes, relative to ||mean||; and its error.
  std::optional<double> distance = {};
  double distance_error = 0;
  double model_share = 0;     // of the nodes that the estimates reach; 1 once they settle
  double degraded_share = 0;  // of the nodes that train
  // The relative change of the mean loss in the last minute; 0: no more than its noise.
  std::optional<double> loss_change;
  Duration extremes_age{};  // since the extremes were taken
};

}  // namespace starling::gossip
