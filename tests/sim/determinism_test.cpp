#include <doctest/doctest.h>

#include "sim/simulation.h"
#include "tests/sim/cluster.h"

using namespace starling;
using namespace starling::test;

namespace {

gossip::Summary run(std::uint64_t seed) {
  const optim::Options training = reference_training(0.1);
  sim::Options options = reference_world(8, topology::Kind::ring, training);
  options.seed = seed;
  options.network.jitter = 2ms;
  options.network.loss = 0.05;
  options.network.duplicate = 0.05;
  options.base.goal.rounds = 50;
  return sim::simulate(options, reference_trainers(training));
}

}  // namespace

TEST_CASE("The same seed gives the same history and another seed another one") {
  const gossip::Summary first = run(1), again = run(1), other = run(2);
  CHECK(first.event_hash == again.event_hash);
  CHECK(first.events == again.events);
  CHECK(first.event_hash != other.event_hash);
}

TEST_CASE("All nodes finish together at the last round") {
  const optim::Options training = reference_training(0.1);
  sim::Options options = reference_world(8, topology::Kind::ring, training);
  options.base.goal.rounds = 40;
  const gossip::Summary summary = sim::simulate(options, reference_trainers(training));
  CHECK(summary.goal.reached);
  CHECK(summary.nodes.size() == 8);
  for (const gossip::NodeSummary& node : summary.nodes) CHECK(node.round == 40);
  CHECK(summary.series.size() == 41);
  CHECK(summary.virtual_s < 2);
  CHECK(summary.members.alive == 8);
}

TEST_CASE("A simulation without a goal ends at the limit") {
  const optim::Options training = reference_training(0.1);
  sim::Options options = reference_world(2, topology::Kind::ring, training);
  options.limit = 3s;
  const gossip::Summary summary = sim::simulate(options, reference_trainers(training));
  CHECK_FALSE(summary.goal.reached);
  CHECK(summary.virtual_s == doctest::Approx(3));
}
