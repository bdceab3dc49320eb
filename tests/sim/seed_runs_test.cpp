// The same run under many seeds.
#include "sim/seed_runs.h"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cmath>

#include "base/moments.h"
#include "tests/sim/cluster.h"

using namespace starling;
using namespace starling::test;

namespace {

sim::Options lossy_world(const optim::Options& training) {
  sim::Options options = reference_world(3, topology::Kind::ring, training);
  options.network.jitter = 2ms;
  options.network.loss = 0.05;
  options.base.goal.rounds = 20;
  return options;
}

}  // namespace

TEST_CASE("Seed runs give what single runs give in the order of their seeds") {
  const optim::Options training = reference_training(0.1);
  const sim::SeedRunOptions options{
      .world = lossy_world(training), .first_seed = 7, .last_seed = 12, .threads = 3};
  std::vector<sim::SeedResult> results;
  std::atomic<int> told = 0;
  sim::run_seeds(
      options, [&](std::uint64_t) { return reference_trainers(training); },
      [&](sim::SeedResult result) { results.push_back(std::move(result)); },
      [&](std::uint64_t, Time, const gossip::Progress&) { ++told; });
  REQUIRE(results.size() == 6);
  for (std::size_t k = 0; k < results.size(); ++k) CHECK(results[k].seed == 7 + k);
  CHECK(told >= 6 * 3 * 20);

  sim::Options world = options.world;
  world.seed = 9;
  const gossip::Summary single = sim::simulate(world, reference_trainers(training));
  CHECK(results[2].event_hash == single.event_hash);
  double squares = 0;
  for (const gossip::NodeSummary& node : single.nodes)
    squares += *node.distance_to_optimum * *node.distance_to_optimum / 3;
  CHECK(results[2].distance_to_optimum == doctest::Approx(std::sqrt(squares)).epsilon(1e-12));
  CHECK(results[2].reached);
}

TEST_CASE("The deviation is that of a sample") {
  const std::array values = {1.0, 2.0, 3.0, 6.0};
  const auto found = moments(values);
  REQUIRE(found.has_value());
  CHECK(found->mean == doctest::Approx(3));
  CHECK(found->deviation == doctest::Approx(std::sqrt(14.0 / 3)));
  CHECK(moments(std::span(values).first(1))->deviation == 0);
  CHECK_FALSE(moments({}).has_value());
}
