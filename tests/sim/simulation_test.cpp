// What a simulation is told besides its nodes: a straggler, a trace.
#include "sim/simulation.h"

#include <doctest/doctest.h>

#include "sim/director.h"
#include "sim/trace.h"
#include "tests/sim/cluster.h"

using namespace starling;
using namespace starling::test;

namespace {

sim::Options ring(std::size_t nodes, const optim::Options& training) {
  return reference_world(nodes, topology::Kind::ring, training);
}

gossip::Summary run(Duration trace) {
  const optim::Options training = reference_training(0.1);
  sim::Options options = ring(4, training);
  options.trace = trace;
  options.limit = 3s;
  return sim::simulate(options, reference_trainers(training));
}

}  // namespace

TEST_CASE("A straggler is the last node and its steps take that much longer") {
  const optim::Options training = reference_training(0.1);
  sim::Options options = ring(8, training);
  options.base.schedule = gossip::schedule_named("async");
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

TEST_CASE("A trace has all nodes at equal intervals and changes nothing") {
  const gossip::Summary traced = run(500ms), plain = run({});
  CHECK(plain.trace.empty());
  CHECK(traced.event_hash == plain.event_hash);
  CHECK(traced.events == plain.events);
  REQUIRE(traced.trace.size() == 6);
  std::uint64_t sent = 0;
  for (std::size_t k = 0; k < traced.trace.size(); ++k) {
    const gossip::TraceRecord& record = traced.trace[k];
    CHECK(record.time_s == doctest::Approx(0.5 * static_cast<double>(k)));
    REQUIRE(record.nodes.size() == 4);
    CHECK(record.nodes[0].sent_bytes >= sent);
    sent = record.nodes[0].sent_bytes.value_or(0);
  }
  CHECK(sent > 0);
}

TEST_CASE("A long trace is thinned") {
  const optim::Options training = reference_training(0.1);
  sim::Options options = ring(1, training);
  sim::World world(options, reference_trainers(training));
  sim::Trace trace(world, 1ms);
  CHECK(trace.due() == Time(1ms));
  for (std::size_t k = 0; k <= sim::Trace::kNodesLimit; ++k) trace.record();
  CHECK(trace.due() == Time(2ms));
  CHECK(trace.take().size() == sim::Trace::kNodesLimit / 2 + 1);
}
