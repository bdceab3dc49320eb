// FleetMeans: this node's estimates of the means over all nodes, by flow updating between
// neighbours (see Aggregate): of a projection of the model, of the quantities of a Sample, and of
// the squared distance of the models from their mean.
//
// A node projects its model on 64 numbers (count sketch), so its own squared distance is off by
// about one part in six, and the mean of n such squares by 1/sqrt(n) of that. The norm of the mean
// follows from exact norms: ||mean||^2 = sum_i ||x_i||^2 / n - sum_i ||x_i - mean||^2 / n.
#pragma once

#include <optional>
#include <vector>

#include "base/ids.h"
#include "gossip/edges/aggregate.h"
#include "gossip/fleet.h"

namespace starling::gossip {

class FleetMeans {
 public:
  // The projection of this node's model, and ||x||.
  void set_model(const std::vector<float>& sketch, double norm);
  void set(const Sample& sample);

  // ---- with neighbours
  bool has_value() const { return aggregate_.has_value(); }
  void update();
  void receive(NodeId from, const std::vector<float>& flow, const std::vector<float>& estimate) {
    aggregate_.receive(from, flow, estimate);
  }
  // Forgets all neighbours but those for which `stays(id)` holds.
  template <class Stays>
  void keep(Stays stays) {
    aggregate_.keep(stays);
  }
  std::vector<float> flow(NodeId to) const { return aggregate_.flow(to); }
  const std::vector<float>& estimate() const { return aggregate_.estimate(); }

  // ---- what is known
  // ||x - mean|| / ||mean|| of this node's model; nothing before there is one.
  std::optional<double> own_distance() const;
  // Without the extremes.
  FleetStatus status() const;

 private:
  void publish();
  double mean_norm() const;

  Aggregate aggregate_;
  std::vector<float> value_;  // what aggregate_ averages; see fleet_means.cpp
  std::vector<float> sketch_;
};

}  // namespace starling::gossip
