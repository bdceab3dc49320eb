#include "gossip/edges/aggregate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "base/limits.h"
#include "base/planted.h"

namespace starling::gossip {
namespace {

// A flow holds what a part of the network lacks: up to as many values as there are members.
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
}

void Aggregate::set_floors(Vector floors) {
  if (floors == floors_) return;
  floors_ = std::move(floors);
  measure();
}

bool Aggregate::is_far(std::size_t place, float estimate) const {
  const float own = std::isfinite(value_[place]) ? std::abs(value_[place]) : 0;
  return !(std::abs(estimate) <= kFar * std::max(scale_[place], own));
}

// What this node and its neighbours hold for possible, but for the largest.
void Aggregate::measure() {
  for (std::size_t k = 0; k < value_.size(); ++k) {
    float largest = std::abs(estimate_[k]), second = floors_[k];
    for (const auto& [id, edge] : edges_) {
      const float told = std::abs(edge.told[k]);
      second = std::max(second, std::min(largest, told));
      largest = std::max(largest, told);
    }
    scale_[k] = second;
  }
}

void Aggregate::move(const Vector& way) {
  if (way.size() != value_.size()) return;
  add(way, value_);
  add(way, estimate_);
  for (auto& [id, edge] : edges_) add(way, edge.estimate);
}

void Aggregate::add(const Vector& way, Vector& to) {
  std::ranges::transform(way, to, to.begin(), std::plus<float>());
}

bool Aggregate::is_far(std::size_t place, float flow, float estimate) const {
  return is_far(place, estimate) || is_far(place, flow / kFlowInValues);
}

bool Aggregate::believes(const Vector& flow, const Vector& estimate) const {
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
  for (std::size_t k = 0; k < value_.size(); ++k) {
    double own = value_[k], sum = 0;
    for (const auto& [id, edge] : edges_) {
      own -= edge.flow[k];
      sum += edge.estimate[k];
    }
    const double mean = (own + sum) / static_cast<double>(edges_.size() + 1 + gone);
    if (is_far(k, static_cast<float>(mean)) && std::isfinite(value_[k])) {
      restart(k);
      continue;
    }
    for (auto& [id, edge] : edges_) {
      edge.flow[k] += static_cast<float>(mean) - edge.estimate[k];
      edge.estimate[k] = static_cast<float>(mean);
    }
    estimate_[k] = static_cast<float>(mean);
  }
}

// Without flows, and with this node's value as everybody's.
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
