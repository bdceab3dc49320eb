// Settings that change while nodes run.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "tests/lengths.h"
#include "tests/sim/cluster.h"
#include "tests/sim/live_terms.h"

using namespace starling;
using namespace starling::test;

namespace {

sim::Options live_world(std::size_t nodes, const optim::Options& training,
                        topology::Kind kind = topology::Kind::ring) {
  sim::Options options = reference_world(nodes, kind, training);
  options.base.expect = nodes;
  options.base.reconfigure = reconfigure_from(options.base, training);
  return options;
}

gossip::ConfigureCommand all_set(std::vector<Term> terms, std::uint64_t at_round = 0) {
  return {.agreed = std::move(terms), .at_round = at_round};
}

// For each node the rounds that it began, with the local steps of each.
using StepsOfRounds = std::map<std::size_t, std::map<std::uint64_t, std::size_t>>;
void note_steps(sim::World& world, StepsOfRounds& steps) {
  world.observe([&steps](std::size_t node, const gossip::Output& output) {
    const auto* train = std::get_if<gossip::Train>(&output);
    if (train && train->job.local) steps[node][train->job.round] = train->job.local_steps;
  });
}

// The first round with so many local steps, at each node.
std::vector<std::uint64_t> first_rounds(const StepsOfRounds& steps, std::size_t count) {
  std::vector<std::uint64_t> firsts;
  for (const auto& [node, rounds] : steps) {
    const auto first =
        std::ranges::find(rounds, count, [](const auto& item) { return item.second; });
    firsts.push_back(first == rounds.end() ? 0 : first->first);
  }
  return firsts;
}

double distance_from_optimum(const sim::World& world, std::size_t nodes,
                             const std::vector<std::size_t>& with) {
  double most = 0;
  const std::vector<double> optimum = reference_optimum({.n = nodes}, with);
  for (const std::size_t node : world.running())
    most = std::max(most, largest_difference({world.trainer(node).parameters()}, {optimum}));
  return most;
}

}  // namespace

TEST_CASE("A running node judges its model and saves it as often as it is told to") {
  const optim::Options training = reference_training(0.02);
  sim::Options options = reference_world(4, topology::Kind::ring, training);
  options.base.expect = 4;
  options.base.evaluation = {.every = 1000, .share = 1};
  options.base.checkpoint = {.is_kept = true};
  options.base.reconfigure = reconfigure_from(options.base, training);
  Cluster cluster(options, training);
  std::size_t evaluations = 0, saves = 0;
  cluster.world.observe([&](std::size_t node, const gossip::Output& output) {
    if (node != 0) return;
    const auto* train = std::get_if<gossip::Train>(&output);
    evaluations += train && train->job.evaluate;
    saves += std::holds_alternative<gossip::Save>(output);
  });
  cluster.start_all();
  REQUIRE(cluster.comes_true([&] { return cluster.round(0) > 40; }, 60s));
  CHECK(evaluations <= 1);
  CHECK(saves == 0);
  cluster.world.tell(
      0, gossip::ConfigureCommand{.own = {{"eval.every", "2"}, {"checkpoint.every", "4"}}});
  const std::uint64_t round = cluster.round(0);
  REQUIRE(cluster.comes_true([&] { return cluster.round(0) >= round + 40; }, 60s));
  CHECK(evaluations >= 18);
  CHECK(saves >= 8);
}

TEST_CASE("All nodes take a change of agreed settings in the same round") {
  for (const double loss : {0.0, 0.3}) {
    CAPTURE(loss);
    const optim::Options training = reference_training(0.02);
    sim::Options options = live_world(8, training);
    options.network = {.delay = 2ms, .jitter = 5ms, .loss = loss};
    Cluster cluster(options, training);
    StepsOfRounds steps;
    note_steps(cluster.world, steps);
    cluster.start_all();
    REQUIRE(cluster.comes_true([&] { return cluster.round(0) > 20; }, 60s));
    cluster.world.tell(3, all_set({{"optim.local-steps", "3"}}));
    const auto is_taken = [&] { return steps[0].rbegin()->second == 3; };
    REQUIRE(cluster.comes_true(is_taken, 60s));
    const std::uint64_t round = cluster.round(0);
    REQUIRE(cluster.comes_true([&] { return cluster.round(0) > round + 10; }, 60s));
    const std::vector<std::uint64_t> firsts = first_rounds(steps, 3);
    CHECK(std::ranges::count(firsts, firsts.front()) == 8);
    CHECK(firsts.front() > 20);
    const auto& changes = cluster.world.status(5).settings.changes;
    REQUIRE(changes.size() == 1);
    CHECK(changes.front().round == firsts.front());
    CHECK(changes.front().author == "node-3");
  }
}

TEST_CASE("Of two people who set one key at once the same counts everywhere") {
  const optim::Options training = reference_training(0.02);
  Cluster cluster(live_world(6, training), training);
  StepsOfRounds steps;
  note_steps(cluster.world, steps);
  cluster.start_all();
  REQUIRE(cluster.comes_true([&] { return cluster.round(0) > 20; }, 60s));
  cluster.world.tell(1, all_set({{"optim.local-steps", "2"}}, 200));
  cluster.world.tell(4, all_set({{"optim.local-steps", "4"}}, 200));
  REQUIRE(cluster.comes_true([&] { return cluster.round(0) > 210; }, 120s));
  for (const auto& [node, rounds] : steps) {
    CHECK(rounds.at(199) == 1);
    CHECK(rounds.at(205) == 4);
  }
}

TEST_CASE("A newcomer and one that comes back begin with the present values") {
  const optim::Options training = reference_training(0.02);
  sim::Options options = live_world(8, training);
  options.base.expect = 6;
  options.base.checkpoint = {.rounds = 10, .is_kept = true};
  options.base.reconfigure = reconfigure_from(options.base, training);
  Cluster cluster(options, training);
  StepsOfRounds steps;
  for (std::size_t node = 0; node < 6; ++node) cluster.world.start(node);
  REQUIRE(cluster.comes_true([&] { return cluster.round(0) > 20; }, 60s));
  cluster.world.tell(2, all_set({{"optim.local-steps", "3"}}));
  const std::uint64_t round = cluster.round(0);
  REQUIRE(cluster.comes_true([&] { return cluster.round(0) > round + 200; }, 120s));
  note_steps(cluster.world, steps);
  cluster.world.crash(4);
  gossip::Options late = sim::node_options(cluster.world.options(), 7);
  late.expect = 0;
  cluster.world.start(7, late);
  cluster.world.run_until(cluster.world.now() + 5s);
  cluster.world.start(4);
  cluster.world.run_until(cluster.world.now() + 10s);
  for (const std::size_t node : {4U, 7U}) {
    CAPTURE(node);
    REQUIRE(steps[node].size() > 10);
    for (const auto& [began, count] : steps[node]) CHECK(count == 3);
  }
}

TEST_CASE("A part of the fleet that was cut off takes the changes of the other when they meet") {
  const optim::Options training = reference_training(0.02);
  Cluster cluster(live_world(8, training, topology::Kind::random), training);
  StepsOfRounds steps;
  note_steps(cluster.world, steps);
  cluster.start_all();
  REQUIRE(cluster.comes_true([&] { return cluster.round(0) > 20; }, 60s));
  const std::vector<std::size_t> part = {0, 1, 2};
  cluster.world.network().partition(part, 8);
  cluster.world.run_until(cluster.world.now() + 15s);
  cluster.world.tell(0, all_set({{"optim.local-steps", "2"}}));
  cluster.world.tell(5, all_set({{"optim.local-steps", "4"}}));
  cluster.world.run_until(cluster.world.now() + 10s);
  CHECK(steps[0].rbegin()->second == 2);
  CHECK(steps[5].rbegin()->second == 4);
  cluster.world.network().heal();
  cluster.world.run_until(cluster.world.now() + 20s);
  const std::size_t last = steps[0].rbegin()->second;
  for (const auto& [node, rounds] : steps) CHECK(rounds.rbegin()->second == last);
  const auto& changes = cluster.world.status(0).settings.changes;
  REQUIRE(changes.size() == 2);
  CHECK(std::to_string(last) == changes.back().terms.front().second);
}

TEST_CASE("Exact algorithms end in the optimum through changes of steps and of the graph") {
  for (const std::string& algorithm : all_or_first<std::string>(1, {"ed", "gt", "extra"})) {
    CAPTURE(algorithm);
    optim::Options training = reference_training(0.05);
    training.algorithm = optim::algorithm_named(algorithm);
    sim::Options options = live_world(8, training, topology::Kind::ring);
    options.network = {.delay = 2ms, .jitter = 5ms, .loss = .1};
    Cluster cluster(options, training);
    cluster.start_all();
    const std::vector<std::vector<Term>> all = {{{"topology.kind", "random"}},
                                                {{"optim.learning-rate", ".1"}},
                                                {{"topology.degree", "2"}},
                                                {{"topology.kind", "complete"}},
                                                {{"optim.learning-rate", ".07"}}};
    for (std::size_t k = 0; k < all.size(); ++k) {
      cluster.world.run_until(cluster.world.now() + 4s);
      cluster.world.tell(k % 8, all_set(all[k]));
    }
    cluster.world.run_until(cluster.world.now() + 120s);
    CHECK(distance_from_optimum(cluster.world, 8, {0, 1, 2, 3, 4, 5, 6, 7}) < 1e-9);
    CHECK(cluster.world.status(3).topology.degree == 7);
    for (const sim::Violation& violation : cluster.checker.violations())
      FAIL_CHECK(sim::to_text(violation, 1));
  }
}

TEST_CASE("A later end and an earlier one hold for all nodes") {
  for (const std::uint64_t rounds : {60U, 300U}) {
    CAPTURE(rounds);
    const optim::Options training = reference_training(0.05);
    sim::Options options = live_world(6, training);
    options.base.goal.rounds = 150;
    options.base.reconfigure = reconfigure_from(options.base, training);
    Cluster cluster(options, training);
    cluster.start_all();
    REQUIRE(cluster.comes_true([&] { return cluster.round(0) > 10; }, 60s));
    cluster.world.tell(2, all_set({{"stop.rounds", std::to_string(rounds)}}, 40));
    cluster.world.run_until(cluster.world.now() + 120s);
    for (const std::size_t node : cluster.world.running()) {
      const gossip::Status status = cluster.world.status(node);
      CHECK(status.run.round == rounds);
      CHECK(status.run.end.round == rounds);
      CHECK(status.state == gossip::State::finished);
    }
  }
}

TEST_CASE("A change that does not go with those before it is left out at every node") {
  const optim::Options training = reference_training(0.02);
  Cluster cluster(live_world(6, training), training);
  cluster.start_all();
  REQUIRE(cluster.comes_true([&] { return cluster.round(0) > 20; }, 60s));
  cluster.world.tell(1, all_set({{"topology.kind", "random"}, {"topology.degree", "3"}}));
  cluster.world.tell(1, all_set({{"optim.local-steps", "2"}}));
  cluster.world.run_until(cluster.world.now() + 20s);
  for (const std::size_t node : cluster.world.running()) {
    const gossip::Status status = cluster.world.status(node);
    CHECK(status.run.local_steps == 2);
    CHECK(status.settings.problem.find("topology.degree") != std::string::npos);
    CHECK(std::ranges::any_of(status.warnings, [](const std::string& warning) {
      return warning.starts_with("does not follow a change of settings");
    }));
  }
}
