// PartialViews: a prototype of membership for more nodes than can know each other. It is not the
// protocol of a node: nodes are numbers, a message takes no time, and nobody trains.
//
// A node knows a few others, by their ids:
//   active   kActive that know it too. They probe each other every cycle.
//   passive  kPassive more, refreshed by random walks, that replace active ones which die.
//   gone     that did not answer, for kFreshCycles: others may still tell of them.
//   rings    in each of kRings, in which all nodes are ordered by a hash of their ids, the kNear
//            nearest on both sides, and when each was heard last. Who was not heard for
//            kFreshCycles is left out. The nearest of both sides in every ring are its neighbours
//            for training: a random graph of degree 2 kRings that each node finds for itself.
// Joining, replacing and shuffling are those of HyParView (Leitão, Pereira, Rodrigues, 2007), the
// rings those of T-Man (Jelasity, Montresor, Babaoglu, 2009). The number of nodes is estimated from
// how dense the rings are, and averaged over the active view. A node's share of the data is the
// mean of its arcs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/prng.h"

namespace starling::sim {

class PartialViews {
 public:
  using Id = std::uint32_t;
  static constexpr std::size_t kActive = 6, kPassive = 30, kRings = 3, kNear = 4;
  static constexpr int kFreshCycles = 60;

  // One node, number 0.
  explicit PartialViews(std::uint64_t seed) : prng_(seed) { start(); }

  // A node joins by one that lives, by chance.
  void join();
  void crash(Id node);
  // Every node that lives probes its active view, shuffles, and exchanges ring candidates with one
  // other node.
  void run_cycle();

  std::vector<Id> alive() const;
  bool is_alive(Id node) const { return nodes_[node].is_alive; }
  // For training: the nearest on both sides in every ring, as the node knows them.
  std::vector<Id> neighbors(Id node) const;

  // ---- what a law asks
  // Nodes in the largest part that the active views join, of those that live.
  std::size_t largest_part() const;
  // Of the neighbours of all that live: how many are those of the true rings. 0 to 1.
  double right_neighbors() const;
  // The largest relative error of a node's estimate of the number of nodes.
  double count_error() const;
  // The largest share of the data over the mean share.
  double largest_share() const;
  // Since the last call, of a node that lives, mean.
  struct Traffic {
    double messages = 0, bytes = 0;
  };
  Traffic take_traffic();
  // That a node remembers, the most of all.
  std::size_t memory_bytes() const;

 private:
  // A node, and the cycle in which it said something itself, as far as others have told.
  struct Known {
    Id id = 0;
    int heard = 0;
  };
  using Side = std::vector<Known>;  // nearest first
  struct Node {
    bool is_alive = true;
    std::vector<Id> active, passive;
    std::array<std::array<Side, 2>, kRings> rings;  // before it, after it
    double count = 1;                               // estimated number of nodes
    std::vector<std::pair<Id, int>> gone;           // until that cycle
  };

  void start();
  void forward_join(Id newcomer, Id at, Id from, int hops);
  void connect(Id a, Id b);
  void make_room(Id node);
  void disconnect(Id a, Id b);
  void remember(Id node, Id other);
  void probe(Id node);
  void refill(Id node);
  void shuffle(Id node);
  void probe_neighbors(Id node);
  void exchange_rings(Id node);
  void estimate(Id node);
  Side known_to(Id node) const;
  Side candidates(Id node, Id of) const;
  void merge(Id node, std::span<const Known> told);
  // From one to the other in the order of the ring; `side` 0 goes backwards.
  std::uint64_t distance(Id from, Id to, std::size_t ring, std::size_t side) const;
  void keep_nearest(Side& known, Id center, std::size_t ring, std::size_t side) const;
  bool reach(Id from, Id to, std::size_t ids);
  void forget(Id node, Id dead);
  bool is_gone(const Node& self, Id other) const;
  Id any_of(std::span<const Id> ids) { return ids[prng_.below(ids.size())]; }

  Prng prng_;
  std::vector<Node> nodes_;
  std::array<std::vector<std::uint64_t>, kRings> positions_;  // of each node
  int cycle_ = 0;
  std::size_t alive_ = 0;
  double messages_ = 0, bytes_ = 0;
};

}  // namespace starling::sim
