// Director: makes the faults of a scenario happen in a world, and then heals it.
#pragma once

#include <functional>
#include <vector>

#include "sim/scenario.h"
#include "sim/world.h"

namespace starling::sim {

class Director {
 public:
  // Told when a fault begins and when it ends.
  using Listener = std::function<void(const Fault& fault, bool begins)>;

  // REQUIRES that world and scenario outlive it, and a world of as many nodes at time 0.
  Director(World& world, const Scenario& scenario) : world_(&world), scenario_(&scenario) {}
  Director(const Director&) = delete;
  Director& operator=(const Director&) = delete;

  void listen(Listener listener) { listener_ = std::move(listener); }
  // Starts the nodes that do not join later and puts every fault into the world's future. At the
  // end of the chaos no fault is left and every node runs.
  void begin();

 private:
  void begin_fault(const Fault& fault);
  void end_fault(const Fault& fault);
  void heal();
  void set_weather();
  void set_pace();
  void limit(const Fault& fault);
  std::vector<std::size_t> cut_off(const Fault& fault) const;
  void start(std::size_t node);

  World* world_;
  const Scenario* scenario_;
  Listener listener_;
  std::vector<const Fault*> active_;  // those that last
};

// How many nodes of it are there from the beginning.
std::size_t founders(const Scenario& scenario);

}  // namespace starling::sim
