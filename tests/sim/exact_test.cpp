// The exact algorithms end in the optimum of the data of those present, whatever the network and
// the neighbours do meanwhile.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/lengths.h"
#include "tests/sim/cluster.h"
#include "tests/sim/legal_ways.h"

using namespace starling;
using namespace starling::test;

namespace {

constexpr double kExact = 1e-10;

struct Way {
  const optim::AlgorithmRow* algorithm;
  std::size_t local_steps = 1;
  const gossip::ScheduleRow* schedule = gossip::schedule_named("rounds");
  std::string codec = "f64";
  std::size_t parts = 1;  // that travel during the next steps, if there are several
  std::string sequence = "still";
};
// LED and K-GT, with five local steps.
const Way kLed{optim::algorithm_named("ed"), 5}, kKgt{optim::algorithm_named("gt"), 5};

Way over(std::string sequence, Way way) {
  way.sequence = std::move(sequence);
  return way;
}

Cluster cluster_of(const Way& way, std::size_t nodes, topology::Kind kind, double loss) {
  optim::Options training = reference_training(0.1);
  training.algorithm = way.algorithm;
  training.local_steps.fixed = way.local_steps;
  training.codec = optim::wire_form_named(way.codec);
  training.codec.coding.parts = way.parts;
  training.overlap = way.parts > 1;
  if (way.algorithm == optim::algorithm_named("admm")) training.penalty = 0.5;
  sim::Options options = reference_world(nodes, kind, training);
  options.base.schedule = way.schedule;
  options.base.topology.sequence = *topology::parse_sequence(way.sequence);
  options.base.expect = nodes;
  options.network.loss = loss;
  return {options, training};
}

// sqrt(mean_i ||x_i - x*||^2) of the nodes that run, x* being their own optimum.
double error_of_present(const Cluster& cluster) {
  const std::vector<std::size_t> nodes = cluster.world.running();
  const std::vector<double> optimum = reference_optimum({}, nodes);
  double sum = 0;
  for (std::size_t node : nodes) {
    const std::vector<double> x = cluster.world.trainer(node).parameters();
    if (x.empty()) return std::numeric_limits<double>::infinity();  // it has not begun
    for (std::size_t k = 0; k < optimum.size(); ++k) sum += std::pow(x[k] - optimum[k], 2);
  }
  return std::sqrt(sum / static_cast<double>(nodes.size()));
}

// Looks once a second of virtual time. The short form runs for one and looks at no error.
bool becomes_exact(Cluster& cluster, Duration limit) {
  if (!tries_full()) {
    cluster.world.run_until(cluster.world.now() + 1s);
    return true;
  }
  for (const Time end = cluster.world.now() + limit; cluster.world.now() < end;) {
    cluster.world.run_until(cluster.world.now() + 1s);
    if (error_of_present(cluster) <= kExact) return true;
  }
  MESSAGE("error ", error_of_present(cluster), " in round ", cluster.round(0));
  return false;
}

void expect_sound(const Cluster& cluster) {
  for (const sim::Violation& violation : cluster.checker.violations())
    FAIL_CHECK(sim::to_text(violation, cluster.world.options().seed));
}

void expect_exact_under_loss(const Way& way,
                             const std::vector<double>& losses = {.1, .01, .3, .5}) {
  for (const double loss : all_or_first(1, losses)) {
    CAPTURE(loss);
    Cluster cluster = cluster_of(way, 9, topology::Kind::torus, loss);
    cluster.start_all();
    CHECK(becomes_exact(cluster, 600s));
    expect_sound(cluster);
  }
}

void expect_exact_under_churn(const Way& way) {
  Cluster cluster = cluster_of(way, 16, topology::Kind::random, 0);
  cluster.start_all();
  cluster.world.run_until(Time(full_or(5s, 1s)));
  const std::vector<std::size_t> lost = all_or_first<std::size_t>(1, {3, 7, 11});
  for (const std::size_t node : lost) cluster.world.crash(node);
  CHECK(becomes_exact(cluster, 120s));
  for (const std::size_t node : lost) {
    cluster.world.start(node);
    cluster.world.run_until(cluster.world.now() + 1s);
  }
  CHECK(cluster.comes_true([&] { return cluster.all_agree(); }, 20s));
  CHECK(becomes_exact(cluster, 120s));
  expect_sound(cluster);
}

// Three join later, one after the other.
void expect_exact_after_joins(const Way& way) {
  Cluster cluster = cluster_of(way, 16, topology::Kind::random, 0);
  for (std::size_t node = 0; node < 13; ++node) cluster.world.start(node);
  cluster.world.run_until(Time(full_or(15s, 1s)));  // without those who are expected
  for (std::size_t node = 13; node < 16; ++node) {
    cluster.world.start(node);
    cluster.world.run_until(cluster.world.now() + 1s);
  }
  CHECK(cluster.comes_true([&] { return cluster.all_agree(); }, 20s));
  CHECK(becomes_exact(cluster, 120s));
  expect_sound(cluster);
}

// Half of the messages are lost, the rest late and out of order, and one node is ten times slower.
void expect_exact_in_bad_company(const Way& way) {
  Cluster cluster = cluster_of(way, 9, topology::Kind::torus, 0.5);
  cluster.world.network().options().jitter = cluster.world.options().compute;
  cluster.world.network().options().reorder = .2;
  cluster.start_all();
  cluster.world.machine(4).slowness = 10;
  CHECK(becomes_exact(cluster, 1200s));
  expect_sound(cluster);
}

void expect_exact_throughout(const Way& way, bool tries_churn) {
  expect_exact_under_loss(way, {.3});
  if (!tries_churn) return;
  expect_exact_under_churn(way);
  expect_exact_after_joins(way);
}

// Messages up to ten rounds late, out of order, twice; and nodes ten times slower than others.
void expect_exact_at_all_speeds(const optim::AlgorithmRow* algorithm,
                                const gossip::ScheduleRow* schedule, double quorum,
                                std::uint64_t seeds) {
  for (std::uint64_t seed = 1; seed <= full_or<std::uint64_t>(seeds, 1); ++seed) {
    CAPTURE(seed);
    CAPTURE(std::string(algorithm->name));
    optim::Options training = reference_training(0.05);
    training.algorithm = algorithm;
    training.penalty = 0.5;
    sim::Options options = reference_world(16, topology::Kind::torus, training);
    options.base.schedule = schedule;
    options.base.quorum = quorum;
    options.base.expect = 16;
    options.seed = seed;
    options.network.jitter = 10 * options.compute;
    options.network.reorder = .3;
    options.network.duplicate = .2;
    Cluster cluster(options, training);
    cluster.start_all();
    for (const std::size_t slow : {2, 5, 11}) cluster.world.machine(slow).slowness = 10;
    CHECK(becomes_exact(cluster, 1200s));
    expect_sound(cluster);
  }
}

}  // namespace

TEST_CASE("D-PSGD that reuses what it heard keeps its floor whatever is lost") {
  struct Case {
    double loss;
    Duration time;  // edges open late and rounds are slow where much is lost
  };
  const std::vector<Case> cases = {{.1, 30s}, {0, 15s}, {.01, 15s}, {.3, 60s}, {.5, 400s}};
  for (const auto& [loss, time] : all_or_first(1, cases)) {
    CAPTURE(loss);
    const optim::Options training = reference_training(0.1);
    sim::Options options = reference_world(16, topology::Kind::torus, training);
    options.base.expect = 16;
    options.base.missing = gossip::Missing::reuse;
    options.network.loss = loss;
    Cluster cluster(options, training);
    cluster.start_all();
    cluster.world.run_until(Time(full_or<Duration>(time, 3s)));
    if (tries_full()) CHECK(cluster.error() == doctest::Approx(.0630557).epsilon(.01));
  }
}

TEST_CASE("Exact diffusion is exact whatever is lost") {
  expect_exact_under_loss({optim::algorithm_named("ed")});
}

TEST_CASE("Gradient tracking is exact whatever is lost") {
  expect_exact_under_loss({optim::algorithm_named("gt")});
}

TEST_CASE("EXTRA is exact whatever is lost") {
  expect_exact_under_loss({optim::algorithm_named("extra")});
}

TEST_CASE("EXTRA forgets who crashed and takes in who comes back") {
  expect_exact_under_churn({optim::algorithm_named("extra")});
}

TEST_CASE("ADMM is exact whatever is lost") {
  expect_exact_under_loss({optim::algorithm_named("admm")});
}

TEST_CASE("ADMM forgets who crashed and takes in who comes back") {
  expect_exact_under_churn({optim::algorithm_named("admm")});
}

TEST_CASE("ADMM is exact whatever is late or comes twice and however unequal the speeds") {
  expect_exact_at_all_speeds(optim::algorithm_named("admm"), gossip::schedule_named("async"), 1, 3);
}

TEST_CASE("Gradient tracking is exact whatever is late and whichever node is left behind") {
  expect_exact_at_all_speeds(optim::algorithm_named("gt"), gossip::schedule_named("async"), 1, 1);
  expect_exact_at_all_speeds(optim::algorithm_named("gt"), gossip::schedule_named("rounds"), 0.5,
                             1);
}

TEST_CASE("Exact diffusion is exact whatever is late and whichever node is left behind") {
  expect_exact_at_all_speeds(optim::algorithm_named("ed"), gossip::schedule_named("async"), 1, 1);
}

TEST_CASE("Exact diffusion forgets who crashed and takes in who comes back") {
  expect_exact_under_churn({optim::algorithm_named("ed")});
}

TEST_CASE(
    "Exact diffusion that waits for any one forgets who crashed and takes in who comes back") {
  Way way{optim::algorithm_named("ed")};
  way.schedule = gossip::schedule_named("async");
  expect_exact_under_churn(way);
}

TEST_CASE("Gradient tracking forgets who crashed and takes in who comes back") {
  expect_exact_under_churn({optim::algorithm_named("gt")});
}

TEST_CASE("Exact diffusion with five local steps is exact whatever is lost and any node comes") {
  expect_exact_throughout(kLed, tries_full());
}

TEST_CASE("Gradient tracking with five local steps is exact whatever is lost and any node comes") {
  expect_exact_throughout(kKgt, tries_full());
}

TEST_CASE("Over matchings exact diffusion is exact whatever is lost and any node comes") {
  expect_exact_throughout(over("matching", kLed), true);
}

TEST_CASE("Over matchings gradient tracking is exact whatever is lost and any node comes") {
  expect_exact_throughout(over("matching", kKgt), tries_full());
}

TEST_CASE("Over base two exact diffusion is exact whatever is lost and any node comes") {
  expect_exact_throughout(over("base:2", kLed), tries_full());
}

TEST_CASE("Over base three gradient tracking is exact whatever is lost and any node comes") {
  expect_exact_throughout(over("base:3", kKgt), tries_full());
}

TEST_CASE("Over clusters exact diffusion is exact whatever is lost and any node comes") {
  expect_exact_throughout(over("clusters:4", kLed), tries_full());
}

TEST_CASE("Over samples exact diffusion is exact whatever is lost and any node comes") {
  expect_exact_throughout(over("sample:4", kLed), tries_full());
}

TEST_CASE("Parts that travel during the next steps stay exact under loss and crashes and joins") {
  for (const Way& way : {kLed, kKgt}) {
    Way late = way;
    late.codec = "i4";
    late.parts = 3;
    expect_exact_throughout(late, true);
    if (way.algorithm == kLed.algorithm)
      expect_exact_throughout(over("matching", late), tries_full());
  }
}

TEST_CASE("What is exact stays exact with every codec under loss and crashes and joins") {
  for (const std::string& codec : compressed_forms()) {
    if (is_sparse(optim::wire_form_named(codec))) continue;  // in many more rounds
    CAPTURE(codec);
    for (Way way : {Way{optim::algorithm_named("ed")}, kLed, Way{optim::algorithm_named("gt")},
                    Way{optim::algorithm_named("admm")}}) {
      CAPTURE(std::string(way.algorithm->name));
      way.codec = codec;
      expect_exact_throughout(way, codec == "i4");
      if (tries_full()) expect_exact_in_bad_company(way);
    }
  }
}
