// What a simulation is told besides its nodes: a straggler.
#include <doctest/doctest.h>

#include "sim/director.h"
#include "tests/sim/cluster.h"

using namespace starling;
using namespace starling::test;

namespace {

sim::Options ring(std::size_t nodes, const optim::Options& training) {
  return reference_world(nodes, topology::Kind::ring, training);
}

}  // namespace

TEST_CASE("A straggler is the last node and its steps take that much longer") {
  const optim::Options training = reference_training(0.1);
  sim::Options options = ring(8, training);
  options.base.schedule = gossip::Schedule::async;
  options.straggler = 10;
  Cluster cluster(options, training);
  cluster.start_all();
  cluster.world.run_until(Time(2s));
  const std::uint64_t first = cluster.round(6), last = cluster.round(7);
  cluster.world.run_until(Time(12s));
  CHECK(cluster.round(6) - first >= 900);
  CHECK(cluster.round(7) - last <= 100);
  CHECK(cluster.round(7) - last >= 90);
}

TEST_CASE("A straggler is still one when the faults have ended") {
  const optim::Options training = reference_training(0.1);
  sim::Options options = ring(4, training);
  options.straggler = 10;
  sim::Scenario scenario;
  scenario.nodes = 4;
  scenario.chaos = 2s;
  sim::World world(options, reference_trainers(training));
  sim::Director director(world, scenario);
  director.begin();
  world.run_until(Time(3s));
  const std::uint64_t slowed = world.fault_counts().slowed;
  world.run_until(Time(4s));
  CHECK(world.fault_counts().slowed > slowed);
}
