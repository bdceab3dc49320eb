#include "gossip/edges/mixing_meter.h"

#include <algorithm>
#include <cmath>

#include "base/prng.h"
#include "gossip/wire/message.h"

namespace starling::gossip {
namespace {

// Squared differences below this are rounding: probes are sent in parts of 2^-31.
constexpr double kSquaresLeast = 1e-17;
// Fewer rounds with averages give no rate.
constexpr std::size_t kPointsLeast = 8;

std::uint64_t as_sent(double probe) {
  return static_cast<std::uint64_t>(std::llround(probe * static_cast<double>(kProbeOne)));
}

}  // namespace

// Slope of ln(squares) over the round, by least squares. REQUIRES two points of different rounds.
double MixingMeter::slope(const std::vector<Point>& points) {
  const auto count = static_cast<double>(points.size());
  double round = 0, logarithm = 0;
  for (const Point& point : points) {
    round += static_cast<double>(point.round) / count;
    logarithm += std::log(point.squares) / count;
  }
  double products = 0, squares = 0;
  for (const Point& point : points) {
    const double distance = static_cast<double>(point.round) - round;
    products += distance * (std::log(point.squares) - logarithm);
    squares += distance * distance;
  }
  return products / squares;
}

std::uint64_t MixingMeter::begin(std::uint64_t round) {
  round_ = round;
  const std::uint64_t epoch = epoch_of(round);
  if (epoch_ != epoch) {
    measure();
    epoch_ = epoch;
    points_.clear();
    probe_ = Prng::derive(epoch, self_.value).chance(0.5) ? 1 : 0;
  }
  change_ = squares_ = 0;
  is_mixed_ = false;
  return as_sent(probe_);
}

void MixingMeter::mix(double weight, const Offered& own, const Offered& theirs) {
  if (epoch_of(own.round) != epoch_ || epoch_of(theirs.round) != epoch_) return;
  const double difference = (static_cast<double>(theirs.probe) - static_cast<double>(own.probe)) /
                            static_cast<double>(kProbeOne);
  change_ += share_ * weight * difference;
  squares_ += weight * difference * difference;
  is_mixed_ = true;
}

std::uint64_t MixingMeter::end() {
  // A false probe of a peer must not leave the range of the field.
  probe_ = std::clamp(probe_ + change_, 0.0, 1.0);
  if (is_mixed_) points_.push_back({round_, squares_});
  change_ = squares_ = 0;
  is_mixed_ = false;
  return as_sent(probe_);
}

// Uses the second half of the rounds above rounding, when the fast modes have decayed. Neighbours
// that drew the same probes differ only later. The slope is a regression, because modes of opposite
// signs make single rounds uneven.
void MixingMeter::measure() {
  const auto counts = [](const Point& point) { return point.squares >= kSquaresLeast; };
  const auto last = std::find_if(points_.rbegin(), points_.rend(), counts);
  if (points_.size() < kPointsLeast || last == points_.rend()) return;
  std::vector<Point> half(points_.begin() + (points_.rend() - last) / 2, last.base());
  std::erase_if(half, [&](const Point& point) { return !counts(point); });
  // After the first round only rounding was left.
  rate_ = half.size() < 2 ? 0 : std::exp(slope(half) / 2);
}

}  // namespace starling::gossip
