#include "gossip/edges/fleet_means.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace starling::gossip {
namespace {

// The places of the averaged vector. The mean over the nodes that have a value is the mean of the
// values (0 for none) divided by the mean of the flags (1 or 0).
constexpr std::size_t kSketch = 64;
constexpr std::size_t kHasModel = kSketch, kSquaredDistance = kSketch + 1,
                      kSquaredNorm = kSketch + 2, kDegraded = kSketch + 3, kValues = kSketch + 4;
constexpr std::size_t kEstimateSize = kValues + 2 * kQuantities;

// Estimates take 1/kShare of the bytes of vectors, and more where vectors are small (up to
// kSmallBytes). Larger: as for kSmallVectors.
constexpr std::size_t kEstimateBytes = 2 * sizeof(float) * kEstimateSize;
constexpr std::size_t kShare = 256, kSmallBytes = std::size_t{16} << 10;

double ratio(const std::vector<float>& means, std::size_t value, std::size_t flag) {
  return static_cast<double>(means[value]) / static_cast<double>(means[flag]);
}

// A smaller mean of a flag is less than one of kMembersLimit nodes: the estimate has not settled.
// Nor has a negative mean of what is never negative: the flows of a node that is gone still act.
constexpr float kFlagLeast = 1e-4F;

double square(double value) {
  return value * value;
}

double squared_distance(const std::vector<float>& sketch, const std::vector<float>& means) {
  double sum = 0;
  for (std::size_t k = 0; k < kSketch; ++k)
    sum += square(static_cast<double>(sketch[k]) - ratio(means, k, kHasModel));
  return sum;
}

// The floors (see Aggregate) at a node that has the quantity, and at one without it or a model.
constexpr PerQuantity<float> kFloors = {1, 1, 1e3F, 1e6F, 1e6F, 1};
constexpr float kUnknownFloor = 1e8F;

std::vector<float> floors_of(const std::vector<float>& value) {
  std::vector<float> floors(kEstimateSize, 1.0F);
  if (value[kHasModel] == 0) {
    std::fill_n(floors.begin(), kSketch, kUnknownFloor);
    floors[kSquaredDistance] = floors[kSquaredNorm] = kUnknownFloor;
  }
  for (std::size_t k = 0; k < kQuantities; ++k)
    floors[kValues + 2 * k + 1] = value[kValues + 2 * k] == 0 ? kUnknownFloor : kFloors[k];
  return floors;
}

// The change of the averaged vector by this node's model; zeros if `from` has no model.
std::vector<float> way_of_model(const std::vector<float>& from, const std::vector<float>& to) {
  std::vector<float> way(kEstimateSize);
  if (from.size() != kEstimateSize || from[kHasModel] == 0) return way;
  const auto set = [&](std::size_t k) {
    way[k] = std::isfinite(to[k] - from[k]) ? to[k] - from[k] : 0;
  };
  for (std::size_t k = 0; k < kSketch; ++k) set(k);
  set(kSquaredNorm);
  return way;
}

}  // namespace

void FleetMeans::set_model(const std::vector<float>& sketch, double norm) {
  if (sketch.size() != kSketch) return;
  const std::vector<float> before = value_;
  value_.resize(kEstimateSize);
  std::ranges::copy(sketch, value_.begin());
  value_[kHasModel] = 1;
  value_[kSquaredNorm] = static_cast<float>(norm * norm);
  aggregate_.move(way_of_model(before, value_));
  sketch_ = sketch;
  publish();
}

void FleetMeans::set(const Sample& sample) {
  value_.resize(kEstimateSize);
  value_[kDegraded] = sample.is_degraded ? 1 : 0;
  for (std::size_t k = 0; k < kQuantities; ++k) {
    value_[kValues + 2 * k] = sample.values[k] ? 1 : 0;
    value_[kValues + 2 * k + 1] = static_cast<float>(sample.values[k].value_or(0));
  }
  publish();
}

void FleetMeans::begin_round(std::uint64_t round) {
  before_ = round == round_ + 1 ? std::move(begun_) : std::vector<float>();
  begun_ = value_;
  round_ = round;
  take_early();
}

void FleetMeans::rest() {
  round_ = 0;
  take_early();
}

void FleetMeans::take_early() {
  for (const auto& [from, said] : early_) aggregate_.receive(from, said.flow, said.estimate);
  early_.clear();
}

bool FleetMeans::receive(NodeId from, std::uint64_t round, const std::vector<float>& flow,
                         std::vector<float> estimate) {
  const bool moves = round > 0 && round_ > 0;
  const bool is_believed = aggregate_.accepts(flow, estimate);
  early_.erase(from);
  if (moves && round == round_ + 1) {
    early_[from] = {flow, std::move(estimate)};
    return is_believed;
  }
  if (moves && round + 1 == round_ && estimate.size() == kEstimateSize)
    Aggregate::add(way_of_model(before_, value_), estimate);
  aggregate_.receive(from, flow, estimate);
  return is_believed;
}

void FleetMeans::write(Time now, Duration period, NodeId to, std::size_t vector_bytes,
                       Round& message) {
  if (!has_value()) return;
  Told& told = told_[to];
  told.vectors += vector_bytes > 0;
  told.vector_bytes += vector_bytes;
  // At the usual interval the next vector comes too late: tell() would have to send the estimates.
  const Time next = now + (now - std::exchange(told.last_vector, now));
  const bool is_late = told.at == Time{} || next >= told.at + period;
  const bool is_enough = told.vector_bytes >= kShare * kEstimateBytes ||
                         (vector_bytes <= kSmallBytes && told.vectors >= kSmallVectors);
  if (!is_late && !is_enough) return;
  message.flow = flow(to);
  message.estimate = estimate();
  told = {.at = now, .last_vector = now};
}

void FleetMeans::tell(Time now, Duration period, std::uint64_t round, const Links& links,
                      Outbox& out) {
  if (now < next_tell_) return;
  next_tell_ = now + period;
  if (!has_value()) return;
  bool is_updated = false;
  for (const auto& [peer, link] : links.all()) {
    Told& told = told_[peer];
    if (!link.active || (told.at > Time{} && now < told.at + period)) continue;
    if (!std::exchange(is_updated, true)) update();
    out.send(peer, Estimate{round, flow(peer), estimate()});
    told = {.at = now, .last_vector = told.last_vector};
  }
}

void FleetMeans::update() {
  aggregate_.update();
  publish();
}

// This node's squared distance follows from the estimate, and is averaged too.
void FleetMeans::publish() {
  if (aggregate_.has_value() && !sketch_.empty() && estimate()[kHasModel] > kFlagLeast)
    value_[kSquaredDistance] = static_cast<float>(squared_distance(sketch_, estimate()));
  aggregate_.set_value(value_);
  if (!value_.empty()) aggregate_.set_floors(floors_of(value_));
}

double FleetMeans::mean_norm() const {
  const double squares =
      ratio(estimate(), kSquaredNorm, kHasModel) - ratio(estimate(), kSquaredDistance, kHasModel);
  if (squares > 0) return std::sqrt(squares);
  double sum = 0;
  for (std::size_t k = 0; k < kSketch; ++k) sum += square(ratio(estimate(), k, kHasModel));
  return std::sqrt(sum);
}

std::optional<double> FleetMeans::own_distance() const {
  if (sketch_.empty() || !has_value() || estimate()[kHasModel] <= kFlagLeast) return std::nullopt;
  const double norm = mean_norm(), distance = std::sqrt(squared_distance(sketch_, estimate()));
  if (!std::isfinite(norm) || !std::isfinite(distance)) return std::nullopt;
  return norm > 0 ? distance / norm : 0;
}

FleetStatus FleetMeans::status() const {
  FleetStatus status;
  if (!has_value()) return status;
  const std::vector<float>& means = estimate();
  const std::vector<float>& errors = aggregate_.disagreement();
  for (std::size_t k = 0; k < kQuantities; ++k) {
    const std::size_t flag = kValues + 2 * k, value = flag + 1;
    if (means[flag] <= kFlagLeast) continue;
    const double mean = ratio(means, value, flag);
    if (mean < 0 && static_cast<Quantity>(k) != Quantity::loss) continue;
    status.spreads[k] = {.mean = mean,
                         .error = (errors[value] + std::abs(mean) * errors[flag]) / means[flag]};
  }
  status.model_share = means[kHasModel];
  status.degraded_share = std::clamp<double>(means[kDegraded], 0, 1);
  if (means[kHasModel] <= kFlagLeast) return status;
  const double squares = std::max(ratio(means, kSquaredDistance, kHasModel), 0.0);
  const double norm = mean_norm();
  if (!std::isfinite(squares) || !std::isfinite(norm) || norm <= 0) return status;
  status.distance = std::sqrt(squares) / norm;
  const double error = errors[kSquaredDistance] / means[kHasModel];
  status.distance_error = (std::sqrt(squares + error) - std::sqrt(squares)) / norm;
  return status;
}

}  // namespace starling::gossip
