#include "gossip/edges/aggregate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "base/planted.h"

namespace starling::gossip {

void Aggregate::set_value(Vector value) {
  if (value.size() != value_.size()) {
    edges_.clear();
    estimate_ = value;
    disagreement_ = newest_disagreement_ = Vector(value.size());
  }
  value_ = std::move(value);
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

void Aggregate::receive(NodeId from, const Vector& flow, const Vector& estimate) {
  if (value_.empty() || flow.size() != value_.size() || estimate.size() != value_.size()) return;
  Edge& edge = edges_[from];
  edge.estimate = estimate;
  edge.flow.resize(flow.size());
  for (std::size_t k = 0; k < flow.size(); ++k) {
    edge.flow[k] = -flow[k];
    newest_disagreement_[k] =
        std::max(newest_disagreement_[k], std::abs(estimate[k] - estimate_[k]));
  }
  was_heard_ = true;
}

void Aggregate::update() {
  if (std::exchange(was_heard_, false)) {
    disagreement_ = newest_disagreement_;
    std::ranges::fill(newest_disagreement_, 0.0F);
  }
  const std::size_t gone = PLANTED(neighbor_miscounted) ? 1 : 0;
  for (std::size_t k = 0; k < value_.size(); ++k) {
    double own = value_[k], sum = 0;
    for (const auto& [id, edge] : edges_) {
      own -= edge.flow[k];
      sum += edge.estimate[k];
    }
    const double mean = (own + sum) / static_cast<double>(edges_.size() + 1 + gone);
    for (auto& [id, edge] : edges_) {
      edge.flow[k] += static_cast<float>(mean) - edge.estimate[k];
      edge.estimate[k] = static_cast<float>(mean);
    }
    estimate_[k] = static_cast<float>(mean);
  }
}

Aggregate::Vector Aggregate::flow(NodeId to) const {
  const auto found = edges_.find(to);
  return found == edges_.end() ? Vector(value_.size(), 0.0F) : found->second.flow;
}

}  // namespace starling::gossip
