// FleetMeans: this node's estimates of the means over all nodes, by flow updating between
// neighbours (see Aggregate): of a projection of the model, of the quantities of a Sample, and of
// the squared distance of the models from their mean.
//
// A node projects its model on 64 numbers (count sketch), so its own squared distance is off by
// about one part in six, and the mean of n such squares by 1/sqrt(n) of that. The norm of the mean
// follows from exact norms: ||mean||^2 = sum_i ||x_i||^2 / n - sum_i ||x_i - mean||^2 / n.
//
// Models move in every round, mostly together. A neighbour's estimate is compared with this node's
// model of the same round, and the estimated mean moves as this node's model does. So models that
// are equal in every round have distance 0, however fast they move; a lasting distance is exact
// after the mixing time of the graph.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "gossip/edges/aggregate.h"
#include "gossip/edges/links.h"
#include "gossip/fleet.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class FleetMeans {
 public:
  // Every kSmallVectors-th small vector to a neighbour carries estimates. Larger: fewer bytes, and
  // means of the fleet that follow more slowly.
  static constexpr std::size_t kSmallVectors = 4;

  // Sets the projection of this node's model, and ||x||.
  void set_model(const std::vector<float>& sketch, double norm);
  void set(const Sample& sample);

  // ---- with neighbours
  bool has_value() const { return aggregate_.has_value(); }
  // This node's model is now that of `round`. Uses the estimates received early, from neighbours
  // that began the round first.
  void begin_round(std::uint64_t round);
  // The model stays as it is until the next begin_round().
  void rest();
  void update();
  // `round`: of the neighbour's model; 0: the neighbour does not train. A model of the previous
  // round is assumed to have moved since then as this node's has. Returns Aggregate::accepts().
  bool receive(NodeId from, std::uint64_t round, const std::vector<float>& flow,
               std::vector<float> estimate);
  // Forgets all neighbours but those for which `stays(id)` holds.
  template <class Stays>
  void keep(Stays stays) {
    aggregate_.keep(stays);
    std::erase_if(early_, [&](const auto& item) { return !stays(item.first); });
    std::erase_if(told_, [&](const auto& item) { return !stays(item.first); });
  }
  // Writes this node's estimates into the message that carries a vector of `vector_bytes` bytes,
  // unless few bytes followed the last estimates; see kShare in the .cpp. `period`: as in tell().
  void write(Time now, Duration period, NodeId to, std::size_t vector_bytes, Round& message);
  // Sends estimates over the edges that carried none for `period`, so that the means include nodes
  // that are paused, have finished, or offer to one neighbour a round. `round`: of this node's
  // model; 0: the node does not train.
  void tell(Time now, Duration period, std::uint64_t round, const Links& links, Outbox& out);
  // Makes tell() due at `at`, unless it is due earlier.
  void plan(Time at) { next_tell_ = std::min(next_tell_, at); }
  Time deadline() const { return next_tell_; }
  std::vector<float> flow(NodeId to) const { return aggregate_.flow(to); }
  const std::vector<float>& estimate() const { return aggregate_.estimate(); }

  // ---- results
  // ||x - mean|| / ||mean|| of this node's model; nothing before there is a mean.
  std::optional<double> own_distance() const;
  // The status without the extremes.
  FleetStatus status() const;

 private:
  struct Said {
    std::vector<float> flow, estimate;
  };
  // When a neighbour was last sent estimates and a vector, and the vectors sent since `at`.
  struct Told {
    Time at{}, last_vector{};
    std::size_t vectors = 0, vector_bytes = 0;
  };
  void take_early();
  void publish();
  double mean_norm() const;

  Aggregate aggregate_;
  std::vector<float> value_;  // what aggregate_ averages; see fleet_means.cpp
  std::vector<float> sketch_;
  std::uint64_t round_ = 0;            // of the model; 0: the node does not train
  std::vector<float> begun_, before_;  // value_ at the start of round_, and of the previous round
  std::map<NodeId, Said> early_;       // by neighbour: estimates of round_ + 1
  std::map<NodeId, Told> told_;        // by neighbour
  Time next_tell_ = kNever;
};

}  // namespace starling::gossip
