// Pauses by the user: nobody waits for a paused node, nothing is lost by a pause, and a fleet that
// rests is known as well as one that trains.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/lengths.h"
#include "tests/sim/cluster.h"

using namespace starling;
using namespace starling::test;

namespace {

Cluster cluster_with(std::string_view algorithm, std::size_t nodes, std::size_t founders,
                     double loss = 0) {
  optim::Options training = reference_training(0.1);
  training.algorithm = optim::algorithm_named(algorithm);
  if (algorithm == "admm") training.penalty = 0.5;
  sim::Options options = reference_world(nodes, topology::Kind::torus, training);
  options.base.expect = founders;
  options.network.loss = loss;
  options.network.delay = 2ms;
  return {options, training};
}

void expect_no_violation(const Cluster& cluster) {
  for (const sim::Violation& violation : cluster.checker.violations())
    FAIL_CHECK(sim::to_text(violation, cluster.world.options().seed));
}

std::uint64_t rounds_within(Cluster& cluster, std::size_t node, Duration span) {
  const std::uint64_t before = cluster.round(node);
  cluster.world.run_until(cluster.world.now() + span);
  return cluster.round(node) - before;
}

bool is_paused(const Cluster& cluster, std::size_t node) {
  return cluster.world.status(node).state == gossip::State::paused;
}

// The model of the only node after `rounds`, having paused twice or not.
std::vector<double> alone(std::string_view algorithm, std::uint64_t rounds, bool pauses) {
  optim::Options training = reference_training(0.1);
  training.algorithm = optim::algorithm_named(algorithm);
  sim::Options options = reference_world(1, topology::Kind::ring, training);
  options.base.expect = 1;
  options.base.goal.rounds = rounds;
  Cluster cluster(options, training);
  cluster.start_all();
  for (int k = 0; pauses && k < 2; ++k) {
    const std::uint64_t from = cluster.round(0) + 3;
    REQUIRE(cluster.comes_true([&] { return cluster.round(0) >= from; }, 60s));
    cluster.world.tell(0, gossip::PauseCommand{});
    REQUIRE(cluster.comes_true([&] { return is_paused(cluster, 0); }, 60s));
    cluster.world.tell(0, gossip::ResumeCommand{});
  }
  const auto has_finished = [&] {
    return cluster.world.status(0).state == gossip::State::finished;
  };
  REQUIRE(cluster.comes_true(has_finished, 600s));
  return cluster.world.trainer(0).parameters();
}

}  // namespace

TEST_CASE("What a node learns does not depend on pauses to the last bit") {
  for (const optim::AlgorithmRow& row : optim::algorithms()) {
    CAPTURE(row.name);
    CHECK(alone(row.name, 30, true) == alone(row.name, 30, false));
  }
}

TEST_CASE("A paused node trains no further and no round waits for it") {
  for (const char* algorithm : {"dpsgd", "ed", "adpsgd", "dpsgd-pipelined"}) {
    CAPTURE(algorithm);
    Cluster cluster = cluster_with(algorithm, 9, 9);
    cluster.start_all();
    REQUIRE(cluster.comes_true([&] { return cluster.round(2) > 20; }, 60s));
    const std::uint64_t rounds_of_all = rounds_within(cluster, 1, 5s);
    cluster.world.tell(2, gossip::PauseCommand{});
    REQUIRE(cluster.comes_true([&] { return is_paused(cluster, 2); }, 5s));
    // Until the others have heard of the pause.
    cluster.world.run_until(cluster.world.now() + 3s);
    const std::vector<double> model = cluster.world.trainer(2).parameters();
    const std::uint64_t paused_round = cluster.round(2);
    CHECK(rounds_within(cluster, 1, 5s) > rounds_of_all * 8 / 10);
    CHECK(cluster.world.trainer(2).parameters() == model);
    CHECK(cluster.round(2) == paused_round);
    cluster.world.tell(2, gossip::ResumeCommand{});
    CHECK(rounds_within(cluster, 2, 5s) > rounds_of_all * 8 / 10);
    CHECK_FALSE(is_paused(cluster, 2));
    expect_no_violation(cluster);
  }
}

TEST_CASE("Exact algorithms are exact after pauses under loss") {
  for (const char* algorithm : {"ed", "gt", "extra", "admm"}) {
    CAPTURE(algorithm);
    Cluster cluster = cluster_with(algorithm, 16, 16, 0.1);
    cluster.start_all();
    cluster.world.run_until(Time(3s));
    for (const std::size_t node : {1, 2, 6}) cluster.world.tell(node, gossip::PauseCommand{});
    cluster.world.run_until(Time(full_or(9s, 4s)));
    for (const std::size_t node : {1, 2, 6}) cluster.world.tell(node, gossip::ResumeCommand{});
    if (tries_full()) CHECK(cluster.comes_true([&] { return cluster.error() < 1e-9; }, 400s));
    expect_no_violation(cluster);
  }
}

TEST_CASE("A newcomer is served by a fleet that rests and the pause ends for all") {
  Cluster cluster = cluster_with("dpsgd", 5, 4);
  for (const std::size_t node : {0, 1, 2, 3}) cluster.world.start(node);
  cluster.world.run_until(Time(3s));
  for (const std::size_t node : {0, 1, 2, 3}) cluster.world.tell(node, gossip::PauseCommand{});
  cluster.world.run_until(Time(5s));
  const std::uint64_t round = cluster.round(0);
  cluster.world.start(4);
  CHECK(cluster.comes_true([&] { return cluster.round(4) >= round; }, 20s));
  for (const std::size_t node : {0, 1, 2, 3}) CHECK(is_paused(cluster, node));
  for (const std::size_t node : {0, 1, 2, 3}) cluster.world.tell(node, gossip::ResumeCommand{});
  CHECK(cluster.comes_true([&] { return cluster.round(0) > round + 20; }, 20s));
  expect_no_violation(cluster);
}

// A vector that comes during the pause makes a pair whole, which the goodbye settles.
TEST_CASE("Paused nodes that leave say once that they paused") {
  Cluster cluster = cluster_with("adpsgd", 9, 9, 0.3);
  cluster.start_all();
  cluster.world.run_until(Time(3s));
  for (std::size_t node = 0; node < 8; ++node) cluster.world.tell(node, gossip::PauseCommand{});
  cluster.world.run_until(Time(6s));
  for (std::size_t node = 0; node < 8; ++node) REQUIRE(is_paused(cluster, node));
  for (std::size_t node = 0; node < 8; ++node) cluster.world.tell(node, gossip::LeaveCommand{});
  CHECK(cluster.comes_true([&] { return cluster.world.running().size() == 1; }, 10s));
  CHECK(std::ranges::count_if(cluster.events, [](const std::string& text) {
          return text.starts_with("paused after round");
        }) == 8);
}
