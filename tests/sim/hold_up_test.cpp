// A slow node is named by every node, near or far, and only while it is slow.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/lengths.h"
#include "tests/sim/cluster.h"

using namespace starling;
using namespace starling::test;
using optim::algorithm_named;

namespace {

constexpr std::size_t kNodes = 8, kSlow = 3;

Cluster ring_of(const std::string& algorithm, const std::string& sequence,
                const std::string& schedule = "rounds") {
  optim::Options training = reference_training(0.02);
  training.algorithm = algorithm_named(algorithm);
  sim::Options options = reference_world(kNodes, topology::Kind::ring, training);
  options.base.expect = kNodes;
  options.compute = 40ms;
  options.base.schedule = gossip::schedule_named(schedule);
  options.base.topology.sequence = *topology::parse_sequence(sequence);
  return {options, training};
}

std::string name_of(std::size_t node) {
  return "node-" + std::to_string(node);
}

// How many nodes say that `name` holds them up; of all that is said, that of another is a failure.
std::size_t saying(const Cluster& cluster, const std::string& name) {
  std::size_t count = 0;
  for (const std::size_t node : cluster.world.running()) {
    const gossip::Status status = cluster.world.status(node);
    if (!status.hold_up) continue;
    CHECK(status.hold_up->name == name);
    const std::string who = status.hold_up->name == name_of(node) ? "this node" : name;
    count += std::ranges::any_of(status.reasons, [&](const std::string& reason) {
      return reason.starts_with(who + " holds up the others: ");
    });
  }
  return count;
}

bool comes_to_say(Cluster& cluster, const std::string& name, std::size_t nodes) {
  for (int looks = 0; looks < 300; ++looks) {
    cluster.world.run_until(cluster.world.now() + 100ms);
    if (saying(cluster, name) == nodes) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("Every node names the slow one and nobody once it is fast") {
  struct Way {
    std::string algorithm, sequence;
  };
  for (const Way& way : all_or_first<Way>(
           1, {{"dpsgd", "still"}, {"dpsgd-pipelined", "still"}, {"dpsgd", "matching"}})) {
    CAPTURE(way.algorithm);
    CAPTURE(way.sequence);
    Cluster cluster = ring_of(way.algorithm, way.sequence);
    cluster.start_all();
    for (int second = 1; second <= 10; ++second) {
      cluster.world.run_until(Time(second * 1s));
      CHECK(saying(cluster, "nobody") == 0);
    }
    cluster.world.machine(kSlow).slowness = 20;
    const std::string slow = name_of(kSlow);
    CHECK(comes_to_say(cluster, slow, kNodes));
    cluster.world.run_until(cluster.world.now() + 20s);
    CHECK(saying(cluster, slow) == kNodes);
    CHECK(cluster.world.status(0).hold_up->percent > 85);
    cluster.world.machine(kSlow).slowness = 1;
    CHECK(comes_to_say(cluster, slow, 0));
  }
}

TEST_CASE("Where rounds do not wait for the slow one nobody names it") {
  Cluster cluster = ring_of("dpsgd", "still", "async");
  cluster.start_all();
  cluster.world.machine(kSlow).slowness = 20;
  cluster.world.run_until(Time(20s));
  CHECK(saying(cluster, "nobody") == 0);
}
