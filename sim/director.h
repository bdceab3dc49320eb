// Director: makes the faults of a scenario happen in a world, and then heals it. Where the scenario
// says so it has nodes leave after the end of the run, as processes do; these do not come back.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "sim/scenario.h"
#include "sim/world.h"

namespace starling::sim {

class Director {
 public:
  // Told when a fault begins and when it ends.
  using Listener = std::function<void(const Fault& fault, bool begins)>;

  // REQUIRES that world and scenario outlive it, and a world of as many nodes at time 0.
  Director(World& world, const Scenario& scenario);
  Director(const Director&) = delete;
  Director& operator=(const Director&) = delete;

  void listen(Listener listener) { listener_ = std::move(listener); }
  // Starts the nodes that do not join later and puts every fault into the world's future. At the
  // end of the chaos no fault is left and every node runs that has not left after the end.
  void begin();
  // Whether a node has left after the end: one that comes later may find nobody.
  bool has_left() const { return !left_.empty(); }

 private:
  void begin_fault(const Fault& fault);
  void end_fault(const Fault& fault);
  void heal();
  void set_weather();
  void set_pace();
  void limit(const Fault& fault);
  std::vector<std::size_t> cut_off(const Fault& fault) const;
  void start(std::size_t node);
  void leave(std::size_t node, std::uint64_t life);

  World* world_;
  const Scenario* scenario_;
  Listener listener_;
  std::vector<const Fault*> active_;  // those that last
  std::set<std::size_t> left_;        // after the end of the run
};

// How many nodes of it are there from the beginning.
std::size_t founders(const Scenario& scenario);

}  // namespace starling::sim
