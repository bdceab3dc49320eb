#include "gossip/node/fleet_past.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace starling::gossip {
namespace {

// Larger: a change of trend shows later. Smaller: the noise of batches changes the trend.
constexpr Duration kTrendOver = std::chrono::minutes(1);
// Least means in each half of that time.
constexpr std::size_t kMeansLeast = 2;
// Standard errors that a change must exceed. Consecutive means are smoothed, so they carry less
// information than independent values.
constexpr double kErrors = 4;

struct Half {
  double mean = 0, squared_error = 0;  // of the mean
};

Half half_of(std::span<const double> values) {
  Half half;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) half.mean += value / count;
  for (const double value : values)
    half.squared_error += std::pow(value - half.mean, 2) / (count * (count - 1));
  return half;
}

}  // namespace

void FleetPast::add(Time now, const FleetStatus& fleet) {
  Entry entry{.at = now};
  for (std::size_t k = 0; k < kQuantities; ++k)
    if (fleet.spreads[k] && std::isfinite(fleet.spreads[k]->mean))
      entry.means[k] = fleet.spreads[k]->mean;
  entries_.push_back(entry);
  if (entries_.size() > kEntriesLimit) entries_.pop_front();
}

std::optional<double> FleetPast::loss_change() const {
  std::vector<double> losses;
  for (const Entry& entry : entries_)
    if (entry.at + kTrendOver >= entries_.back().at)
      if (const auto loss = entry.means[static_cast<std::size_t>(Quantity::loss)])
        losses.push_back(*loss);
  const std::size_t size = losses.size() / 2;
  if (size < kMeansLeast) return std::nullopt;
  const Half before = half_of(std::span(losses).first(size));
  const Half after = half_of(std::span(losses).last(size));
  if (before.mean == 0) return std::nullopt;
  const double change = after.mean - before.mean;
  const double error = std::sqrt(before.squared_error + after.squared_error);
  return std::abs(change) > kErrors * error ? change / std::abs(before.mean) : 0;
}

void FleetPast::complete(Time now, const Extremes& extremes, FleetStatus& fleet) const {
  fleet.loss_change = loss_change();
  fleet.extremes_age = now - extremes.values_of();
  for (std::size_t k = 0; k < kQuantities; ++k) {
    const auto quantity = static_cast<Quantity>(k);
    const auto range = extremes.range(quantity);
    if (!fleet.spreads[k] || !range) continue;
    fleet.spreads[k]->least = range->least;
    fleet.spreads[k]->most = range->most;
    // An estimate lags, so the true mean may be outside of the extremes.
    if (const auto mean = mean_at(quantity, extremes.values_of()))
      fleet.spreads[k]->mean_then = std::clamp(*mean, range->least, range->most);
  }
}

std::optional<double> FleetPast::mean_at(Quantity quantity, Time then) const {
  const auto k = static_cast<std::size_t>(quantity);
  const auto found = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return entry.at >= then && entry.means[k]; });
  return found == entries_.end() ? std::nullopt : found->means[k];
}

}  // namespace starling::gossip
