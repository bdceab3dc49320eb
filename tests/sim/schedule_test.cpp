// Nodes of unequal speed: what each schedule makes of them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "tests/lengths.h"
#include "tests/sim/cluster.h"

using namespace starling;
using namespace starling::test;

namespace {

using optim::algorithm_named, optim::AlgorithmRow;

constexpr std::size_t kNodes = 16;

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += std::pow(a[k] - b[k], 2);
  return std::sqrt(sum);
}

std::vector<double> mean_model(const sim::World& world) {
  std::vector<double> mean(10);
  for (std::size_t node = 0; node < kNodes; ++node) {
    const std::vector<double> x = world.trainer(node).parameters();
    for (std::size_t k = 0; k < mean.size(); ++k) mean[k] += x[k] / kNodes;
  }
  return mean;
}

// Largest distance of a node from a point.
double furthest(const sim::World& world, const std::vector<double>& from) {
  double most = 0;
  for (std::size_t node = 0; node < kNodes; ++node)
    most = std::max(most, distance(world.trainer(node).parameters(), from));
  return most;
}

struct Run {
  optim::Options training;
  sim::Options options;

  Run(const AlgorithmRow* algorithm, double rate, const gossip::ScheduleRow* schedule,
      topology::Kind kind = topology::Kind::torus) {
    training = reference_training(rate);
    training.algorithm = algorithm;
    training.penalty = 0.5;
    options = reference_world(kNodes, kind, training);
    options.base.schedule = schedule;
    options.base.expect = kNodes;
  }
};

// Every second node takes four steps where the others take one.
void slow_every_second(Cluster& cluster) {
  for (std::size_t node = 1; node < kNodes; node += 2) cluster.world.machine(node).slowness = 4;
}

// The optimum of sum_i r_i F_i, r_i being the steps that node i has taken.
std::vector<double> rate_weighted_optimum(const Cluster& cluster) {
  std::vector<std::size_t> parts;
  for (std::size_t node = 0; node < kNodes; ++node)
    parts.insert(parts.end(), (cluster.round(node) + 50) / 100, node);
  return reference_optimum({}, parts);
}

std::vector<double> true_optimum() {
  std::vector<std::size_t> parts(kNodes);
  std::iota(parts.begin(), parts.end(), 0U);
  return reference_optimum({}, parts);
}

struct Row {
  std::string name;
  const AlgorithmRow* algorithm;
  const gossip::ScheduleRow* schedule;
  double quorum;
};

constexpr std::size_t kStraggler = 5;

// Virtual time until the mean training loss of all nodes but one is at the level, s; that one takes
// ten times as long for each step if it is a straggler.
double time_to_level(const Row& row, bool has_straggler, double level) {
  Run run(row.algorithm, 0.02, row.schedule);
  run.options.base.quorum = row.quorum;
  Cluster cluster(run.options, run.training);
  cluster.start_all();
  if (has_straggler) cluster.world.machine(kStraggler).slowness = 10;
  REQUIRE(cluster.comes_true([&] { return cluster.round(0) > 0; }, 10s));
  const Time from = cluster.world.now();
  const auto is_there = [&] {
    double sum = 0;
    for (std::size_t node = 0; node < kNodes; ++node)
      if (node != kStraggler) sum += cluster.world.status(node).run.loss;
    return sum / (kNodes - 1) < level;
  };
  if (!cluster.comes_true(is_there, 120s)) return INFINITY;
  return seconds(cluster.world.now() - from);
}

// By which a straggler slows the others down.
double slowdown(const Row& row) {
  constexpr double kLevel = 0.65;  // from 2.1; the least for all nodes is .625
  const double without = time_to_level(row, false, kLevel);
  const double with = time_to_level(row, true, kLevel);
  MESSAGE(row.name, ": ", without, " s, with a straggler ", with, " s");
  return with / without;
}

}  // namespace

TEST_CASE("AD-PSGD ends where the faster nodes count for more") {
  Run run(algorithm_named("adpsgd"), 0.005, gossip::schedule_named("pairwise"));
  Cluster cluster(run.options, run.training);
  cluster.start_all();
  slow_every_second(cluster);
  cluster.world.run_until(Time(full_or(200s, 3s)));
  if (!tries_full()) return;
  const std::vector<double> weighted = rate_weighted_optimum(cluster), optimum = true_optimum();
  const std::vector<double> mean = mean_model(cluster.world);
  const double apart = distance(weighted, optimum);
  CAPTURE(apart);
  CHECK(apart > .1);
  CHECK(distance(mean, weighted) < .1 * apart);
  CHECK(distance(mean, optimum) > .9 * apart);
}

TEST_CASE("Pairwise exact diffusion ends in the optimum however unequal the speeds") {
  const std::vector<double> optimum = true_optimum();
  Run run(algorithm_named("pairwise-ed"), 0.1, gossip::schedule_named("pairwise"));
  Cluster cluster(run.options, run.training);
  cluster.start_all();
  slow_every_second(cluster);
  cluster.world.run_until(Time(2s));
  if (!tries_full()) return;
  CHECK(cluster.comes_true([&] { return furthest(cluster.world, optimum) < 1e-10; }, 120s));
  MESSAGE("rounds ", cluster.round(0), " and ", cluster.round(1));
}

TEST_CASE("Nodes of ssp are apart by the staleness and one for each hop and no more") {
  for (const std::uint64_t staleness : all_or_first<std::uint64_t>(1, {1, 0, 3})) {
    CAPTURE(staleness);
    Run run(algorithm_named("dpsgd"), 0.05, gossip::schedule_named("ssp"), topology::Kind::ring);
    run.options.base.staleness = staleness;
    Cluster cluster(run.options, run.training);
    cluster.start_all();
    cluster.world.run_until(Time(2s));
    cluster.world.machine(5).slowness = 10;
    std::uint64_t most = 0;
    for (int step = 0; step < full_or(2000, 500); ++step) {
      cluster.world.run_until(cluster.world.now() + 10ms);
      most = std::max(most, cluster.round_spread());
    }
    CHECK(most == (staleness + 1) * kNodes / 2);
  }
}

TEST_CASE("One who stopped does not count as having spoken") {
  for (const gossip::ScheduleRow* schedule :
       {gossip::schedule_named("async"), gossip::schedule_named("rounds")}) {
    CAPTURE(std::string(schedule->name));
    optim::Options training = reference_training(0.01);
    sim::Options options = reference_world(3, topology::Kind::complete, training);
    options.base.schedule = schedule;
    options.base.quorum = schedule == gossip::schedule_named("rounds") ? .5 : 1;
    options.base.expect = 3;
    Cluster cluster(options, training);
    cluster.start_all();
    cluster.world.machine(1).slowness =
        100;  // a second a step, longer than the patience with the others
    cluster.world.run_until(Time(8s));
    cluster.world.pause(2, Time(13s));
    cluster.world.run_until(Time(10s));  // patience with it is over
    // Steps, not the numbers of rounds: with a quorum those leap.
    const std::size_t quick = cluster.progress[0].size(), slow = cluster.progress[1].size();
    cluster.world.run_until(Time(12500ms));
    CHECK(cluster.progress[1].size() > slow);
    // The quick one waits for the slow one, the only one that speaks.
    CHECK(cluster.progress[0].size() - quick <= cluster.progress[1].size() - slow + 2);
  }
}

TEST_CASE("A straggler costs the others little where nobody waits for it") {
  const Row rounds{"rounds, dpsgd", algorithm_named("dpsgd"), gossip::schedule_named("rounds"), 1};
  const Row quorum{"rounds with quorum 3/4, dpsgd", algorithm_named("dpsgd"),
                   gossip::schedule_named("rounds"), .75};
  const Row async{"async, dpsgd", algorithm_named("dpsgd"), gossip::schedule_named("async"), 1};
  const Row pairwise{"pairwise, adpsgd", algorithm_named("adpsgd"),
                     gossip::schedule_named("pairwise"), 1};
  // Ideal pairs, exchanged in no time, give 1.46: who steps seldom corrects seldom.
  const Row pairwise_ed{"pairwise, pairwise-ed", algorithm_named("pairwise-ed"),
                        gossip::schedule_named("pairwise"), 1};
  if (!tries_full()) {
    CHECK(slowdown(async) < 1.15);
    return;
  }
  CHECK(slowdown(rounds) > 5);
  CHECK(slowdown(quorum) < slowdown(rounds) / 2);
  CHECK(slowdown(async) < 1.15);
  CHECK(slowdown(pairwise) < 1.15);
  CHECK(slowdown(pairwise_ed) < 1.5);
}

namespace {

Cluster pairs_of(double loss, const char* sequence = "matching",
                 topology::Kind kind = topology::Kind::complete, std::uint64_t seed = 1) {
  const optim::Options training = reference_training(0.05);
  sim::Options options = reference_world(12, kind, training);
  options.seed = seed;
  options.base.topology.sequence = *topology::parse_sequence(sequence);
  options.base.expect = 12;
  options.network.loss = loss;
  return {options, training};
}

}  // namespace

// However rarely two nodes exchange, what is lost between them is asked for after the time that
// an answer takes.
TEST_CASE("Rounds over matchings keep the pace of rounds with all neighbours under loss") {
  constexpr std::uint64_t kSeeds = 16;  // the rounds of one vary by a third
  std::uint64_t by_pairs = 0, with_all = 0;
  for (std::uint64_t seed = 1; seed <= full_or(kSeeds, std::uint64_t{1}); ++seed) {
    Cluster pairs = pairs_of(0.3, "matching", topology::Kind::complete, seed);
    Cluster all = pairs_of(0.3, "still", topology::Kind::grid, seed);
    for (Cluster* cluster : {&pairs, &all}) {
      cluster->start_all();
      cluster->world.run_until(Time(full_or(20s, 1s)));
    }
    by_pairs += pairs.round(0);
    with_all += all.round(0);
  }
  CAPTURE(by_pairs);
  CAPTURE(with_all);
  if (tries_full()) MESSAGE("rounds by pairs: " << by_pairs << ", with all: " << with_all);
  if (tries_full()) CHECK(by_pairs > with_all / 2);
}

// Each node waits once for it, 8 s, one after the other at worst. That patience is for one round of
// the peer's, and not for the ten rounds between two of its vectors.
TEST_CASE("A node that hangs costs each node the patience of one round") {
  Cluster cluster = pairs_of(0);
  for (std::size_t node = 0; node < 12; ++node) cluster.world.machine(node).slowness = 50;
  cluster.start_all();
  cluster.world.run_until(Time(30s));
  cluster.world.machine(11).slowness = 1e5;
  if (!tries_full()) return cluster.world.run_until(Time(35s));
  cluster.world.run_until(Time(30s + 11 * 8s));
  const std::uint64_t round = cluster.round(0);
  cluster.world.run_until(cluster.world.now() + 20s);
  CHECK(cluster.round(0) - round >= 38);  // of half a second each
}
