#include "gossip/edges/aggregate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "base/limits.h"
#include "base/planted.h"

namespace starling::gossip {
namespace {

// A flow may add up the differences of all members: its limit is this many times that of a value.
constexpr float kFlowInValues = kMembersLimit;

}  // namespace

void Aggregate::set_value(Vector value) {
  if (value.size() != value_.size()) {
    edges_.clear();
    estimate_ = value;
    disagreement_ = newest_disagreement_ = Vector(value.size());
    floors_ = scale_ = Vector(value.size(), 1.0F);
  }
  value_ = std::move(value);
  set_limits();
}

void Aggregate::set_floors(Vector floors) {
  if (floors == floors_) return;
  floors_ = std::move(floors);
  measure();
}

void Aggregate::set_limits() {
  limits_.resize(value_.size());
  std::ranges::transform(value_, scale_, limits_.begin(), [](float value, float scale) {
    return kFar * std::max(scale, std::isfinite(value) ? std::abs(value) : 0);
  });
}

bool Aggregate::is_far(std::size_t place, float estimate) const {
  return !(std::abs(estimate) <= limits_[place]);
}

// The scale of a place: the second largest estimate of this node and its neighbours, at least the
// floor. The inner loop, here and in update(), is over the places, so that compilers vectorize it.
void Aggregate::measure() {
  Vector largest(value_.size());
  scale_ = floors_;
  std::ranges::transform(estimate_, largest.begin(), [](float x) { return std::abs(x); });
  for (const auto& [id, edge] : edges_)
    for (std::size_t k = 0; k < value_.size(); ++k) {
      const float told = std::abs(edge.told[k]);
      scale_[k] = std::max(scale_[k], std::min(largest[k], told));
      largest[k] = std::max(largest[k], told);
    }
  set_limits();
}

void Aggregate::move(const Vector& way) {
  if (way.size() != value_.size()) return;
  add(way, value_);
  add(way, estimate_);
  for (auto& [id, edge] : edges_) add(way, edge.estimate);
  set_limits();
}

void Aggregate::add(const Vector& way, Vector& to) {
  std::ranges::transform(way, to, to.begin(), std::plus<float>());
}

bool Aggregate::is_far(std::size_t place, float flow, float estimate) const {
  return is_far(place, estimate) || is_far(place, flow / kFlowInValues);
}

bool Aggregate::accepts(const Vector& flow, const Vector& estimate) const {
  if (flow.size() != value_.size() || estimate.size() != value_.size()) return true;
  for (std::size_t k = 0; k < flow.size(); ++k)
    if (is_far(k, flow[k], estimate[k])) return false;
  return true;
}

void Aggregate::receive(NodeId from, const Vector& flow, const Vector& estimate) {
  if (value_.empty() || flow.size() != value_.size() || estimate.size() != value_.size()) return;
  Edge& edge = edges_[from];
  edge.estimate = edge.told = estimate;
  edge.flow.resize(flow.size());
  for (std::size_t k = 0; k < flow.size(); ++k) {
    edge.flow[k] = -flow[k];
    if (is_far(k, flow[k], estimate[k])) {
      edge.flow[k] = 0;
      edge.estimate[k] = estimate_[k];
    }
    newest_disagreement_[k] =
        std::max(newest_disagreement_[k], std::abs(edge.estimate[k] - estimate_[k]));
  }
  was_heard_ = true;
}

void Aggregate::update() {
  if (std::exchange(was_heard_, false)) {
    disagreement_ = newest_disagreement_;
    std::ranges::fill(newest_disagreement_, 0.0F);
  }
  const std::size_t gone = PLANTED(neighbor_miscounted) ? 1 : 0;
  measure();
  std::vector<double> own(value_.begin(), value_.end()), sum(value_.size());
  for (const auto& [id, edge] : edges_)
    for (std::size_t k = 0; k < value_.size(); ++k) {
      own[k] -= edge.flow[k];
      sum[k] += edge.estimate[k];
    }
  for (std::size_t k = 0; k < value_.size(); ++k)
    estimate_[k] =
        static_cast<float>((own[k] + sum[k]) / static_cast<double>(edges_.size() + 1 + gone));
  for (auto& [id, edge] : edges_)
    for (std::size_t k = 0; k < value_.size(); ++k) {
      edge.flow[k] += estimate_[k] - edge.estimate[k];
      edge.estimate[k] = estimate_[k];
    }
  for (std::size_t k = 0; k < value_.size(); ++k)
    if (is_far(k, estimate_[k]) && std::isfinite(value_[k])) restart(k);
}

// Sets the flows to 0, and all estimates to this node's value.
void Aggregate::restart(std::size_t place) {
  for (auto& [id, edge] : edges_) {
    edge.flow[place] = 0;
    edge.estimate[place] = value_[place];
  }
  estimate_[place] = value_[place];
}

Aggregate::Vector Aggregate::flow(NodeId to) const {
  const auto found = edges_.find(to);
  return found == edges_.end() ? Vector(value_.size(), 0.0F) : found->second.flow;
}

}  // namespace starling::gossip
