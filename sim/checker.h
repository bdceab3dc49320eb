// Checker: laws that hold whatever the network does. It watches a world while that runs; what is
// found broken is told with virtual time, node and seed, so that it can be seen again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/world.h"

namespace starling::sim {

class Checker {
 public:
  // From now on: no round goes back within a life; every job has weights w_ij >= 0 with a sum
  // below 1. REQUIRES that the checker lives as long as the world runs.
  explicit Checker(World& world);
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;

  // ---- at the end
  // Every parameter of every node is a number.
  void expect_finite();
  // Every node that runs lists exactly those that run as alive.
  void expect_agreement();

  const std::vector<std::string>& violations() const { return violations_; }

 private:
  struct Seen {
    std::uint64_t life = 0;
    std::uint64_t round = 0;
  };
  static constexpr std::size_t kViolationsLimit = 100;

  void see(std::size_t node, const gossip::Progress& progress);
  void see(std::size_t node, const optim::Job& job);
  void violated(std::size_t node, std::string what);

  World* world_;
  std::vector<Seen> seen_;
  std::vector<std::string> violations_;
};

// Whether every node that runs lists exactly those that run as alive.
bool agree_on_members(const World& world);

}  // namespace starling::sim
