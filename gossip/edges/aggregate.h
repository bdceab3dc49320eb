// Aggregate: a running estimate of the mean of a small vector over the whole network, from messages
// between neighbours only. Flow Updating (Jesus, Baquero, Almeida: Fault-tolerant aggregation by
// flow updating, 2009): node i holds a value v_i and a flow f_ij per neighbour; its estimate is
//   e_i = v_i - sum_j f_ij ,
// and each round node i sends neighbour j the flow f_ij that would make e_j the local average, and
// that average. Node j sets f_ji = -f_ij. Flows are states, not increments: lost, repeated and late
// messages and vanishing neighbours leave no lasting error, and values may change at any time.
//
// A false estimate is limited, since its rounding error would stay in the flows between others: a
// number counts only up to kFar times the largest of the place's floor, of this node's own value,
// and of the second largest number that this node and its neighbours estimate there. Beyond it the
// neighbour is left out in that place, and this node begins again with its own value if its
// estimate is.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "base/ids.h"

namespace starling::gossip {

class Aggregate {
 public:
  using Vector = std::vector<float>;

  // The floors are 1 at first.
  void set_value(Vector value);
  // What any node may have in each place, though this one has less. REQUIRES as many as values.
  void set_floors(Vector floors);
  // Adds `way` to this node's value and to all estimates, as if all nodes' values moved alike. Such
  // a common move has no lag; with set_value() the lag is half as many rounds as there are
  // neighbours. Differing moves are averaged in later rounds.
  void move(const Vector& way);
  // REQUIRES vectors of one size.
  static void add(const Vector& way, Vector& to);
  static constexpr float kFar = 1e4F;

  // Takes a neighbour's flow and estimate. Ignores vectors of another size.
  void receive(NodeId from, const Vector& flow, const Vector& estimate);
  // Whether every number of them counts.
  bool believes(const Vector& flow, const Vector& estimate) const;
  // Forgets all neighbours but those for which `stays(id)` holds.
  template <class Stays>
  void keep(Stays stays) {
    std::erase_if(edges_, [&](const auto& item) { return !stays(item.first); });
  }
  // Averages with each neighbour's last estimate. Call once a round, before flow().
  void update();

  bool has_value() const { return !value_.empty(); }
  const Vector& value() const { return value_; }
  // The estimate of the mean; the value itself until a neighbour has sent one.
  const Vector& estimate() const { return estimate_; }
  // The largest distance of the estimates received since the previous update from this node's: a
  // measure of the remaining distance to the mean.
  const Vector& disagreement() const { return disagreement_; }
  // f_ij for a message to neighbour `to`; zero before the neighbour's first message.
  Vector flow(NodeId to) const;

 private:
  struct Edge {
    Vector flow;      // f_ij
    Vector estimate;  // e_j
    Vector told;      // e_j as the neighbour told it
  };
  bool is_far(std::size_t place, float estimate) const;
  bool is_far(std::size_t place, float flow, float estimate) const;
  void set_limits();
  void measure();
  void restart(std::size_t place);

  Vector value_, estimate_;
  Vector floors_;
  Vector scale_;   // of each place, at the last update
  Vector limits_;  // kFar times that, or times the own value if that is larger: more is too far
  Vector disagreement_, newest_disagreement_;  // the second: since the last update
  bool was_heard_ = false;                     // since the last update
  std::map<NodeId, Edge> edges_;
};

}  // namespace starling::gossip
