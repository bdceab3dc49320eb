// exchange.masks in a network: what masked slices give is what plain ones give, and what comes of
// it where members stop, die, come back or cannot be dialled.
#include "base/masks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "sim/checker.h"
#include "sim/trial.h"
#include "tests/lengths.h"
#include "tests/sim/cluster.h"
#include "tests/sim/masked.h"
#include "tests/sim/sliced_run.h"
#include "tests/sim/trials.h"

using namespace starling;
using namespace starling::test;

namespace {

// When the reference problem is solved, by two phases where a member comes back.
const Duration kHalf = test::full_or(30s, 12s), kLong = test::full_or(60s, 24s);

// A masked world of the reference problem, before it is made.
struct Plan {
  Plan(std::string_view algorithm, double learning_rate, std::size_t n)
      : nodes(n),
        training(masked_training(sliced_way(algorithm), reference_training(learning_rate))),
        options(masked_world(n, sliced_way(algorithm), training)) {}

  sim::TrainerFactory trainers(std::size_t relays = 0) const {
    return masked_trainers(training, options.seed, {.n = nodes}, relays);
  }

  std::size_t nodes;
  optim::Options training;
  sim::Options options;
};

Models models_of(const sim::World& world) {
  Models models;
  for (const std::size_t node : world.running()) models.push_back(world.trainer(node).parameters());
  return models;
}

double spread(const sim::World& world) {
  const Models models = models_of(world);
  double most = 0;
  for (const auto& model : models)
    most = std::max(most, largest_difference({model}, {models.front()}));
  return most;
}

// The largest distance of a number of those that run from the point.
double distance_from(const sim::World& world, const std::vector<double>& point) {
  double most = 0;
  for (const auto& model : models_of(world))
    most = std::max(most, largest_difference({model}, {point}));
  return most;
}

std::string reasons_of(const sim::World& world, std::size_t node) {
  std::string all;
  for (const std::string& reason : world.status(node).reasons) all += reason + "\n";
  return all;
}

}  // namespace

TEST_CASE("Masked slices give what plain slices give by every algorithm") {
  for (const LegalWay& way : legal_ways()) {
    if (!way.schedule->is_in_slices) continue;
    CAPTURE(way.name);
    const Models masked = result_of({.way = way, .is_masked = true}).models;
    CHECK(largest_difference(masked, result_of({.way = way, .sums_models = false}).models) < 1e-7);
    for (const auto& model : masked) CHECK(std::abs(model[0]) > 1e-3);
  }
}

// Parts have 8 bytes a number, an era, and a number that shows whether masks have cancelled.
TEST_CASE("A round of masked slices sends eight bytes a number of each part") {
  constexpr std::size_t kNumbers = 300;
  const std::size_t numbers = 2 * (kSlicedNodes - 1) * kNumbers;  // of all nodes
  const std::size_t parts = kSlicedNodes * (kSlicedNodes - 1);
  CHECK(result_of({.is_masked = true, .numbers = kNumbers}).bytes ==
        kSlicedRounds * 8 * (numbers + 4 * parts));
}

TEST_CASE("Models are equal after every masked round though data differ") {
  const Models last = result_of({.is_masked = true}).models;
  for (const auto& model : last) CHECK(largest_difference({model}, {last.front()}) < 1e-9);
}

TEST_CASE("Two nodes average nothing with masks and say why") {
  const Plan plan("dpsgd", .05, 2);
  Cluster cluster(plan.options, plan.trainers());
  cluster.start_all();
  cluster.world.run_until(Time(10s));
  CHECK(cluster.round(0) > 50);
  CHECK(spread(cluster.world) > .1);
  CHECK(reasons_of(cluster.world, 0).find("exchange.masks: 2 nodes exchange") != std::string::npos);
}

TEST_CASE("Nodes without keys average nothing with masks and say why") {
  Plan plan("dpsgd", .05, 4);
  plan.options.has_keys = false;
  Cluster cluster(plan.options, plan.trainers());
  cluster.start_all();
  cluster.world.run_until(Time(10s));
  CHECK(spread(cluster.world) > .1);
  CHECK(reasons_of(cluster.world, 0).find("exchange.masks: no key is known of node-0, node-1") !=
        std::string::npos);
}

// Hidden nodes have no edge with each other; their masks are by keys alone.
TEST_CASE("Nodes that nobody can dial take part in masked sums") {
  Plan plan("ed", .1, 6);
  plan.options.hiding = {.nodes = 3};
  Cluster cluster(plan.options, plan.trainers());
  cluster.start_all();
  cluster.world.run_until(Time(kLong));
  CHECK(distance_from(cluster.world, reference_optimum({.n = 6}, {0, 1, 2, 3, 4, 5})) < 1e-7);
}

TEST_CASE("A relay takes part in masked sums") {
  Plan plan("gt", .1, 5);
  plan.options.relays = 1;
  plan.options.base.expect = 4;
  plan.options.base.seeds = {sim::control_of(1)};
  Cluster cluster(plan.options, plan.trainers(1));
  cluster.start_all();
  cluster.world.run_until(Time(kLong));
  CHECK(distance_from(cluster.world, reference_optimum({.n = 5}, {1, 2, 3, 4})) < 1e-7);
}

// What exact algorithms count over edges adds up to nothing only over all members; the others begin
// anew.
TEST_CASE("Exact algorithms find the optimum of those that stay after a masked member dies") {
  for (const LegalWay& way : legal_ways()) {
    if (!way.schedule->is_in_slices || !way.algorithm->is_exact) continue;
    for (std::uint64_t seed = 1; seed <= test::full_or(5U, 1U); ++seed) {
      CAPTURE(way.name);
      CAPTURE(seed);
      const optim::Options training = masked_training(way, reference_training(.1));
      sim::Options options = masked_world(5, way, training);
      options.seed = seed;
      options.network = {.delay = 2ms, .jitter = 5ms, .loss = .02};
      Cluster cluster(options, masked_trainers(training, seed, {.n = 5}));
      cluster.start_all();
      cluster.world.run_until(Time(3s));
      cluster.world.crash(2);
      cluster.world.run_until(Time(30s));
      CHECK(distance_from(cluster.world, reference_optimum({.n = 5}, {0, 1, 3, 4})) < 1e-6);
      cluster.world.start(2);
      cluster.world.run_until(Time(60s));
      CHECK(distance_from(cluster.world, reference_optimum({.n = 5}, {0, 1, 2, 3, 4})) < 1e-6);
    }
  }
}

// With it they would have no means, and come to optima of their own.
TEST_CASE("Members go on without one that is paused") {
  const Plan plan("ed", .1, 5);
  Cluster cluster(plan.options, plan.trainers());
  cluster.start_all();
  cluster.world.run_until(Time(3s));
  cluster.world.tell(4, gossip::PauseCommand{});
  cluster.world.run_until(Time(kHalf));
  Models models = models_of(cluster.world);
  models.pop_back();
  for (const auto& model : models)
    CHECK(largest_difference({model}, {reference_optimum({.n = 5}, {0, 1, 2, 3})}) < 1e-6);
  cluster.world.tell(4, gossip::ResumeCommand{});
  cluster.world.run_until(Time(kLong));
  CHECK(distance_from(cluster.world, reference_optimum({.n = 5}, {0, 1, 2, 3, 4})) < 1e-6);
}

// A wrong one would be of the size of fixed point: masks that did not cancel.
TEST_CASE("No masked mean is wrong while members die and come back in the middle of rounds") {
  for (std::uint64_t seed = 1; seed <= test::full_or(20U, 2U); ++seed) {
    CAPTURE(seed);
    const LegalWay way = sliced_way("dpsgd");
    const optim::Options training = masked_training(way, reference_training(.05));
    sim::Options options = masked_world(6, way, training);
    options.seed = seed;
    options.network = {.delay = 2ms, .jitter = 10ms, .loss = .1, .duplicate = .1, .reorder = .2};
    Cluster cluster(options, masked_trainers(training, seed, {.n = 6}));
    double largest = 0;
    cluster.world.observe([&](std::size_t node, const gossip::Output& output) {
      if (!std::holds_alternative<gossip::Progress>(output)) return;
      for (const double x : cluster.world.trainer(node).parameters())
        largest = std::max(largest, std::abs(x));
    });
    cluster.start_all();
    Prng chance(mix64(seed));
    for (int k = 0; k < 30; ++k) {
      cluster.world.run_until(cluster.world.now() + Duration(chance.below(800'000'000)));
      const std::size_t node = chance.below(6);
      cluster.world.runs(node) ? cluster.world.crash(node) : cluster.world.start(node);
    }
    for (std::size_t node = 0; node < 6; ++node)
      if (!cluster.world.runs(node)) cluster.world.start(node);
    cluster.world.run_until(cluster.world.now() + 20s);
    const std::uint64_t before = cluster.round(0);
    cluster.world.run_until(cluster.world.now() + 10s);
    CHECK(cluster.round(0) > before + 10);
    CHECK(largest > .1);
    CHECK(largest < 10);
    CHECK(spread(cluster.world) < .2);
    for (const sim::Violation& violation : cluster.checker.violations())
      FAIL_CHECK(sim::to_text(violation, seed));
  }
}

// A stream that masked two vectors would show their difference.
TEST_CASE("Rounds that are done again in a next life are masked by other streams") {
  Plan plan("dpsgd", .05, 4);
  plan.options.base.checkpoint = {.rounds = 20, .is_kept = true};
  Cluster cluster(plan.options, plan.trainers());
  std::map<std::tuple<std::size_t, NodeId, std::uint64_t>, std::vector<Payload>> given;
  cluster.world.observe([&](std::size_t node, const gossip::Output& output) {
    const auto* send = std::get_if<gossip::Send>(&output);
    const auto* round = send ? std::get_if<gossip::Round>(&send->message.body) : nullptr;
    if (!round || round->number % 2 == 0 || send->message.payload.size() <= 24) return;
    given[{node, send->to, round->round}].push_back(send->message.payload);
  });
  cluster.start_all();
  cluster.world.run_until(Time(3s));
  for (std::size_t node = 0; node < 4; ++node) cluster.world.crash(node);
  cluster.start_all();
  cluster.world.run_until(Time(6s));
  const auto numbers_of = [](const Payload& payload) {
    std::vector<std::int64_t> numbers(payload.size() / 8 - 2);
    payload.copy_to(16, std::as_writable_bytes(std::span(numbers)));
    return numbers;
  };
  std::size_t again = 0, near = 0;
  for (const auto& [key, payloads] : given)
    for (std::size_t k = 1; k < payloads.size(); ++k) {
      const auto one = numbers_of(payloads[k - 1]), other = numbers_of(payloads[k]);
      if (one == other) continue;  // sent once more
      ++again;
      REQUIRE(one.size() == other.size());
      for (std::size_t n = 0; n < one.size(); ++n)
        near += std::abs(static_cast<double>(one[n]) - static_cast<double>(other[n])) < 0x1p44;
    }
  CHECK(again > 10);
  CHECK(near == 0);
}

TEST_CASE("Models come together with masks whatever has happened") {
  const LegalWay way = sliced_way("dpsgd");
  const optim::Options training = masked_training(way, fading_training());
  sim::Options options = quick_trial();
  const sim::Options masked = masked_world(8, way, training);
  options.base.topology = masked.base.topology;
  options.base.schedule = way.schedule;
  options.base.needs = needs_of(training);
  options.format = nullptr;
  options.has_keys = true;
  for (std::uint64_t seed = 1; seed <= test::full_or(20U, 2U); ++seed) {
    const sim::Scenario scenario = sim::draw_scenario(seed, 8, options.phases.chaos);
    const sim::Verdict verdict =
        try_scenario(options, masked_trainers(training, seed, {.n = 16}), scenario);
    CAPTURE(sim::to_text(verdict));
    CHECK(verdict.passed());
  }
}
