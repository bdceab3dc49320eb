#include "tests/sim/cluster.h"

#include <algorithm>
#include <cmath>

namespace starling::test {

Cluster::Cluster(const sim::Options& options, const optim::Options& training)
    : Cluster(options, reference_trainers(training, {}, options.relays)) {}

Cluster::Cluster(const sim::Options& options, const sim::TrainerFactory& trainers)
    : world(options, trainers), checker(world), progress(world.options().nodes) {
  world.observe([this](std::size_t node, const gossip::Output& output) {
    if (const auto* point = std::get_if<gossip::Progress>(&output))
      progress[node].push_back({world.now(), *point});
    if (const auto* event = std::get_if<gossip::Event>(&output)) events.push_back(event->text);
  });
}

void Cluster::start_all() {
  for (std::size_t node = 0; node < world.options().nodes; ++node) world.start(node);
}

std::uint64_t Cluster::round(std::size_t node) const {
  return progress[node].empty() ? 0 : progress[node].back().progress.round;
}

bool Cluster::comes_true(const std::function<bool()>& claim, Duration limit) {
  const Time end = world.now() + limit;
  while (!claim()) {
    if (world.now() >= end) return false;
    world.run_until(world.now() + 10ms);
  }
  return true;
}

bool Cluster::all_agree() const {
  return sim::agree_on_members(world);
}

std::uint64_t Cluster::round_spread() const {
  std::uint64_t least = UINT64_MAX, most = 0;
  for (std::size_t node : world.running()) {
    least = std::min(least, round(node));
    most = std::max(most, round(node));
  }
  return most - least;
}

Duration Cluster::longest_round(std::size_t node, Time from) const {
  Duration longest{};
  Time before = from;
  for (const Seen& seen : progress[node]) {
    if (seen.at < from) continue;
    longest = std::max<Duration>(longest, seen.at - before);
    before = seen.at;
  }
  return std::max<Duration>(longest, world.now() - before);
}

double Cluster::error() const {
  double sum = 0;
  const auto running = world.running();
  for (std::size_t node : running)
    sum += std::pow(*progress[node].back().progress.distance_to_optimum, 2);
  return std::sqrt(sum / static_cast<double>(running.size()));
}

gossip::Liveness Cluster::liveness(std::size_t seen_by, std::size_t node) const {
  const std::string name = sim::name_of(node);
  for (const gossip::MemberStatus& member : world.status(seen_by).members)
    if (member.member->name == name) return member.liveness;
  return gossip::Liveness::dead;
}

Cluster reference_cluster(std::size_t nodes, std::size_t expect, const sim::NetworkOptions& network,
                          topology::Kind kind, std::uint64_t seed) {
  const optim::Options training = reference_training(0.1);
  sim::Options options = reference_world(nodes, kind, training);
  options.base.expect = expect;
  options.network = network;
  options.seed = seed;
  return Cluster(options, training);
}

}  // namespace starling::test
