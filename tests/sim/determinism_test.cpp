#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "sim/report.h"
#include "sim/simulation.h"
#include "tests/sim/cluster.h"

using namespace starling;
using namespace starling::test;

namespace {

sim::Summary run(std::uint64_t seed) {
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
  const sim::Summary first = run(1), again = run(1), other = run(2);
  CHECK(first.event_hash == again.event_hash);
  CHECK(first.events == again.events);
  CHECK(first.event_hash != other.event_hash);
  CHECK(sim::json(first) == sim::json(again));
}

TEST_CASE("All nodes finish together at the last round") {
  const optim::Options training = reference_training(0.1);
  sim::Options options = reference_world(8, topology::Kind::ring, training);
  options.base.goal.rounds = 40;
  const sim::Summary summary = sim::simulate(options, reference_trainers(training));
  CHECK(summary.goal.reached);
  CHECK(summary.nodes.size() == 8);
  for (const sim::NodeSummary& node : summary.nodes) CHECK(node.round == 40);
  CHECK(summary.series.size() == 41);
  CHECK(summary.virtual_s < 2);
  CHECK(summary.members.alive == 8);
}

TEST_CASE("A simulation without a goal ends at the limit") {
  const optim::Options training = reference_training(0.1);
  sim::Options options = reference_world(2, topology::Kind::ring, training);
  options.limit = 3s;
  const sim::Summary summary = sim::simulate(options, reference_trainers(training));
  CHECK_FALSE(summary.goal.reached);
  CHECK(summary.virtual_s == doctest::Approx(3));
}

TEST_CASE("A report has the names of the interface and leaves out what does not apply") {
  const auto report = nlohmann::json::parse(sim::json(run(1), 1.5));
  CHECK(report["nodes"].size() == 8);
  for (const char* name :
       {"name", "round", "loss", "distance", "distance_to_optimum", "sent_bytes"})
    CHECK(report["nodes"][0].contains(name));
  CHECK_FALSE(report["nodes"][0].contains("accuracy"));
  for (const char* name : {"round", "time_s", "loss", "distance", "distance_to_optimum"})
    CHECK(report["series"][5].contains(name));
  CHECK(report["goal"]["reached"] == true);
  CHECK(report["members"]["alive"] == 8);
  CHECK(report["wall_s"] == 1.5);
  CHECK(report["seed"] == 1);
  CHECK(report["event_hash"].get<std::string>().size() == 16);
  CHECK_FALSE(nlohmann::json::parse(sim::json(run(1))).contains("wall_s"));
}
