// A fleet in virtual time whose small model stands in for a large one.
#include "sim/rehearsal.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/sim/cluster.h"

using namespace starling;
using namespace starling::test;

namespace {

// Of the reference problem over a ring, which has no held-out samples.
sim::RehearsalOptions rehearsal_of(const std::string& text, std::size_t steps = 1) {
  auto plan = sim::parse_fleet_plan(text);
  REQUIRE(plan.has_value());
  sim::RehearsalOptions options{.plan = *std::move(plan), .number_bytes = 8, .rounds = 20};
  options.world =
      reference_world(options.plan.machines(), topology::Kind::ring, reference_training(0.1));
  options.world.base.local_steps.fixed = steps;
  options.machine_s = 2e4;
  return options;
}

sim::Rehearsal rehearsed(const sim::RehearsalOptions& options) {
  return sim::rehearse(options, reference_trainers(reference_training(0.1)));
}

// What a vector of so many bytes takes of that rate.
double vector_s(double bytes, double bits_per_s) {
  return bytes / (bits_per_s / 8 * 0.85);
}

}  // namespace

TEST_CASE("A round takes the steps and two vectors of the large model over each link") {
  const auto found =
      rehearsed(rehearsal_of("model 10MB\nstep 2s\nregion a 4 machines 100mbit\nlink a a 10ms\n"));
  const double sent_s = 2 * vector_s(10e6, 100e6);
  CHECK(found.round_s == doctest::Approx(2 + sent_s).epsilon(0.03));
  CHECK(found.goodput == doctest::Approx(2 / (2 + sent_s)).epsilon(0.03));
  CHECK(found.bytes_a_day == doctest::Approx(2 * 10e6 * 86'400 / (2 + sent_s)).epsilon(0.05));
  CHECK(found.deaths == 0);
}

TEST_CASE("Connections share what lies between regions and slow machines hold up the others") {
  const auto shared = rehearsed(
      rehearsal_of("model 10MB\nstep 1s\nregion a 2 machines 1gbit\nregion b 2 machines 1gbit\n"
                   "link a b 10ms shared 50mbit\n"));
  CHECK(shared.round_s > 1 + vector_s(10e6, 50e6));
  const auto alone = rehearsed(
      rehearsal_of("model 10MB\nstep 1s\nregion a 2 machines 1gbit\nregion b 2 machines 1gbit\n"
                   "link a b 10ms 50mbit\n"));
  CHECK(alone.round_s == doctest::Approx(1 + vector_s(10e6, 50e6)).epsilon(0.05));
  const auto slow = rehearsed(rehearsal_of(
      "model 1MB\nstep 1s\nregion a 3 machines 1gbit\nregion b 1 machines 1gbit slower 2\n"
      "link a b 10ms\n"));
  CHECK(slow.round_s == doctest::Approx(2).epsilon(0.05));
  CHECK(slow.goodput == doctest::Approx((3 * 0.5 + 1) / 4).epsilon(0.05));
}

TEST_CASE("Time that passes faster changes no share") {
  const std::string plan = "step 60s\nmodel 100MB\nregion a 4 machines 20mbit\nlink a a 100ms\n";
  sim::RehearsalOptions options = rehearsal_of(plan);
  options.rounds = 8;
  options.machine_s = 1e6;
  const auto slowly = rehearsed(options);
  CHECK(slowly.haste == 1);
  options.machine_s = 600;
  const auto fast = rehearsed(options);
  CHECK(fast.haste > 2);
  CHECK(fast.goodput == doctest::Approx(slowly.goodput).epsilon(0.03));
  CHECK(fast.round_s == doctest::Approx(slowly.round_s).epsilon(0.03));
}

TEST_CASE("Machines die and come back and the others train on") {
  for (const std::uint64_t seed : {1, 4}) {
    CAPTURE(seed);
    sim::RehearsalOptions options = rehearsal_of(
        "model 1MB\nstep 10s\nregion a 6 machines 100mbit\nlink a a 20ms\n"
        "churn 400 a day for 2m\n");
    options.world.seed = seed;
    const auto found = rehearsed(options);
    CHECK(found.deaths >= 5);
    CHECK(found.away > 0.01);
    CHECK(found.away < 0.5);
    CHECK(found.goodput > 0.7);
    CHECK(found.goodput < 1);
  }
}
