// A world of nodes with the reference problem, its checker, and what was seen of each node.
#pragma once

#include <algorithm>
#include <chrono>
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
  explicit Cluster(const sim::Options& options, const optim::Options& training)
      : world(options, reference_trainers(training)), checker(world), progress(world.size()) {
    world.observe([this](std::size_t node, const gossip::Output& output) {
      if (const auto* point = std::get_if<gossip::Progress>(&output))
        progress[node].push_back({world.now(), *point});
      if (const auto* event = std::get_if<gossip::Event>(&output)) events.push_back(event->text);
    });
  }

  void start_all() {
    for (std::size_t node = 0; node < world.size(); ++node) world.start(node);
  }
  std::uint64_t round(std::size_t node) const {
    return progress[node].empty() ? 0 : progress[node].back().progress.round;
  }
  // Looks every 10 ms of virtual time; false when it is not so within `limit`.
  bool comes_true(const std::function<bool()>& claim, Duration limit) {
    const Time end = world.now() + limit;
    while (!claim()) {
      if (world.now() >= end) return false;
      world.run_until(world.now() + 10ms);
    }
    return true;
  }
  bool all_agree() const { return sim::agree_on_members(world); }
  std::uint64_t round_spread() const {
    std::uint64_t least = UINT64_MAX, most = 0;
    for (std::size_t node : world.running()) {
      least = std::min(least, round(node));
      most = std::max(most, round(node));
    }
    return most - least;
  }
  // The longest time between two rounds of a node since `from`.
  Duration longest_round(std::size_t node, Time from) const {
    Duration longest{};
    Time before = from;
    for (const Seen& seen : progress[node]) {
      if (seen.at < from) continue;
      longest = std::max<Duration>(longest, seen.at - before);
      before = seen.at;
    }
    return std::max<Duration>(longest, world.now() - before);
  }
  // sqrt(mean_i ||x_i - x*||^2) of the nodes that run, as last reported.
  double error() const {
    double sum = 0;
    const auto running = world.running();
    for (std::size_t node : running)
      sum += std::pow(*progress[node].back().progress.distance_to_optimum, 2);
    return std::sqrt(sum / static_cast<double>(running.size()));
  }
  gossip::Liveness liveness(std::size_t seen_by, std::size_t node) const {
    const std::string name = world.node_options(node).name;
    for (const gossip::MemberStatus& member : world.status(seen_by).members)
      if (member.member.name == name) return member.liveness;
    return gossip::Liveness::dead;
  }

  sim::World world;
  sim::Checker checker;
  std::vector<std::vector<Seen>> progress;  // by node
  std::vector<std::string> events;
};

// On the reference problem: ring, D-PSGD, gamma 0.1.
inline Cluster reference_cluster(std::size_t nodes, std::size_t expect,
                                 const sim::NetworkOptions& network = {},
                                 topology::Kind kind = topology::Kind::ring,
                                 std::uint64_t seed = 1) {
  const optim::Options training = reference_training(0.1);
  sim::Options options = reference_world(nodes, kind, training);
  options.base.expect = expect;
  options.network = network;
  options.seed = seed;
  return Cluster(options, training);
}

}  // namespace starling::test
