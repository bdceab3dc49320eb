// Aggregate: a running estimate of the mean of a small vector over the whole network, from messages
// between neighbours only. Flow Updating (Jesus, Baquero, Almeida: Fault-tolerant aggregation by
// flow updating, 2009): node i holds a value v_i and a flow f_ij per neighbour; its estimate is
//   e_i = v_i - sum_j f_ij ,
// and each round node i sends neighbour j the flow f_ij that would make e_j the local average, and
// that average. Node j sets f_ji = -f_ij. Flows are states, not increments: lost, repeated and late
// messages and vanishing neighbours leave no lasting error, and values may change at any time.
//
// Numbers are limited, because a false one leaves its rounding error in the flows of other nodes.
// The limit of a place is kFar times the largest of the place's floor, this node's own value, and
// the second largest of the estimates of this node and its neighbours. A neighbour's number beyond
// the limit is not used. If this node's own estimate is beyond it, the place restarts from the
// node's own value.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "base/ids.h"

namespace starling::gossip {

class Aggregate {
 public:
  using Vector = std::vector<float>;

  // Sets v_i. A new size forgets all neighbours and sets the floors to 1.
  void set_value(Vector value);
  // Sets for each place a magnitude that any node may have. REQUIRES as many floors as values.
  void set_floors(Vector floors);
  // Adds `way` to this node's value and to all estimates, as if all nodes' values moved by it. Such
  // a common move has no lag; with set_value() the lag is half as many rounds as there are
  // neighbours. Differing moves are averaged in later rounds.
  void move(const Vector& way);
  // to += way. REQUIRES vectors of one size.
  static void add(const Vector& way, Vector& to);
  static constexpr float kFar = 1e4F;

  // Takes a neighbour's flow and estimate. Ignores vectors of another size.
  void receive(NodeId from, const Vector& flow, const Vector& estimate);
  // Whether no number is beyond its limit; true for vectors of another size.
  bool accepts(const Vector& flow, const Vector& estimate) const;
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
    Vector told;      // e_j as the neighbour sent it
  };
  bool is_far(std::size_t place, float estimate) const;
  bool is_far(std::size_t place, float flow, float estimate) const;
  void set_limits();
  void measure();
  void restart(std::size_t place);

  Vector value_, estimate_;
  Vector floors_;
  Vector scale_;   // second largest estimate of each place, at least the floor
  Vector limits_;  // kFar times the scale, or times the own value if that is larger
  Vector disagreement_, newest_disagreement_;  // the second: since update()
  bool was_heard_ = false;                     // an estimate was received since update()
  std::map<NodeId, Edge> edges_;
};

}  // namespace starling::gossip
