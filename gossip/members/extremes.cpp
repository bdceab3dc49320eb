#include "gossip/members/extremes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace starling::gossip {
namespace {

// An epoch further ahead counts as a false number, unless this node has just begun. Larger: false
// numbers use up the range of epochs sooner. Smaller: a node that was cut off for so many epochs
// never follows again.
constexpr std::uint64_t kEpochsAhead = 1'000'000;
// The least periods of an epoch, and those added for each doubling of the members. In a period a
// member meets two others, the one that it pings and one that pings it, so an extreme, or the start
// of an epoch, reaches all within log2 n periods. Larger: the values are older. Smaller: with lost
// messages they may miss some members.
constexpr int kPeriodsLeast = 4, kPeriodsPerDoubling = 2;
constexpr float kNone = std::numeric_limits<float>::max();

}  // namespace

void Extremes::tick(Time now, std::size_t members) {
  const auto doublings = static_cast<int>(std::bit_width(members));
  if (now - begun_ >= period_ * (kPeriodsLeast + kPeriodsPerDoubling * doublings))
    begin(now, current_.epoch + 1);
}

void Extremes::begin(Time now, std::uint64_t epoch) {
  last_ = std::exchange(current_, {epoch, {}, {}});
  values_of_ = std::exchange(begun_, now);
  for (const std::optional<double>& value : own_) add_own(value);
}

void Extremes::add_own(std::optional<double> value) {
  const auto own = static_cast<float>(value.value_or(0));
  current_.least.push_back(value ? own : kNone);
  current_.most.push_back(value ? own : -kNone);
}

void Extremes::receive(Time now, const Ranges& ranges) {
  const bool fits = ranges.least.size() == kQuantities && ranges.most.size() == kQuantities;
  if (!fits || ranges.epoch < current_.epoch) return;
  if (current_.epoch > 0 && ranges.epoch > current_.epoch + kEpochsAhead) return;
  if (ranges.epoch > current_.epoch) begin(now, ranges.epoch);
  merge(ranges);
}

// Ignores values that no node can have.
void Extremes::merge(const Ranges& ranges) {
  for (std::size_t k = 0; k < current_.least.size(); ++k) {
    const auto is_sound = [k](float value) {
      return std::abs(value) == kNone || is_possible(static_cast<Quantity>(k), value);
    };
    if (!is_sound(ranges.least[k]) || !is_sound(ranges.most[k])) continue;
    current_.least[k] = std::min(current_.least[k], ranges.least[k]);
    current_.most[k] = std::max(current_.most[k], ranges.most[k]);
  }
}

std::optional<Extremes::Range> Extremes::range(Quantity quantity) const {
  const auto k = static_cast<std::size_t>(quantity);
  if (last_.least.size() <= k || last_.least[k] > last_.most[k]) return std::nullopt;
  return Range{last_.least[k], last_.most[k]};
}

}  // namespace starling::gossip
