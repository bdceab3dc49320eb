// A world of nodes with the reference problem, its checker, and what was seen of each node.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "sim/checker.h"
#include "sim/world.h"
#include "tests/sim/reference.h"

namespace starling::test {

using namespace std::chrono_literals;

struct Seen {
  Time at;
  gossip::Progress progress;
};

class Cluster {
 public:
  Cluster(const sim::Options& options, const optim::Options& training);
  Cluster(const sim::Options& options, const sim::TrainerFactory& trainers);

  void start_all();
  std::uint64_t round(std::size_t node) const;
  // Looks every 10 ms of virtual time; false when it is not so within `limit`.
  bool comes_true(const std::function<bool()>& claim, Duration limit);
  bool all_agree() const;
  std::uint64_t round_spread() const;
  // The longest time between two rounds of a node since `from`.
  Duration longest_round(std::size_t node, Time from) const;
  // sqrt(mean_i ||x_i - x*||^2) of the nodes that run, as last reported.
  double error() const;
  gossip::Liveness liveness(std::size_t seen_by, std::size_t node) const;

  sim::World world;
  sim::Checker checker;
  std::vector<std::vector<Seen>> progress;  // by node
  std::vector<std::string> events;
};

// On the reference problem: ring, D-PSGD, gamma 0.1.
Cluster reference_cluster(std::size_t nodes, std::size_t expect,
                          const sim::NetworkOptions& network = {},
                          topology::Kind kind = topology::Kind::ring, std::uint64_t seed = 1);

}  // namespace starling::test
