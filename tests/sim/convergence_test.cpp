// Every node of the real core, against numbers computed elsewhere (docs/algorithms.md).
#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <map>

#include "sim/simulation.h"
#include "tests/lengths.h"
#include "tests/sim/lockstep.h"
#include "tests/sim/reference.h"

using namespace starling;
using namespace starling::test;

namespace {

gossip::Summary run(topology::Kind kind, const optim::Options& training, std::uint64_t rounds) {
  sim::Options options = reference_world(16, kind, training);
  options.base.goal.rounds = rounds;
  return sim::simulate(options, reference_trainers(training));
}

std::map<std::uint64_t, double> error_by_round(const gossip::Summary& summary) {
  std::map<std::uint64_t, double> error;
  for (const gossip::SeriesPoint& point : summary.series)
    error[point.round] = *point.distance_to_optimum;
  return error;
}

// To eight digits; small errors to five, and of the smallest only how small they are.
bool is_as_known(double value, double known) {
  if (known > 1e-3) return std::abs(value - known) <= 1e-8 * known;
  if (known > 1e-6) return std::abs(value - known) <= 1e-5 * known;
  return value <= 10 * known;
}

void expect_row(topology::Kind kind, const optim::Options& training,
                const std::map<std::uint64_t, double>& wanted) {
  const std::uint64_t rounds = full_or(1000U, 10U);
  const gossip::Summary summary = run(kind, training, rounds);
  CHECK(summary.violations.empty());
  CHECK(summary.goal.reached);
  CHECK(summary.series.size() == rounds + 1);
  const auto error = error_by_round(summary);
  for (const auto& [round, value] : wanted) {
    if (round > rounds) break;
    CAPTURE(round);
    CHECK(is_as_known(error.at(round), value));
  }
  // Then all models become one, their mean.
  for (const gossip::NodeSummary& node : summary.nodes) CHECK(*node.distance < 1e-12);
}

// In lockstep: that the simulator computes the same is what the rows are for.
void expect_fixed_point(topology::Kind kind, const optim::Options& training, std::uint64_t rounds,
                        double wanted) {
  Lockstep lockstep(kind, training);
  if (!tries_full()) return lockstep.run(10);
  lockstep.run(rounds);
  CAPTURE(training.learning_rate);
  CHECK(std::abs(lockstep.error() - wanted) < 6e-9);  // eight decimals are known
}

optim::Options training_by(const optim::AlgorithmRow* algorithm, double learning_rate) {
  optim::Options training = reference_training(learning_rate);
  training.algorithm = algorithm;
  return training;
}

optim::Options pipelined(double learning_rate) {
  optim::Options training = reference_training(learning_rate);
  training.algorithm = optim::algorithm_named("dpsgd-pipelined");
  return training;
}

}  // namespace

TEST_CASE("D-PSGD on a ring follows the reference round by round") {
  expect_row(topology::Kind::ring, reference_training(0.1),
             {{1, 1.855937474e+00},
              {10, 1.423108371e+00},
              {100, 4.526391141e-01},
              {1000, 4.434728101e-01}});
}

TEST_CASE("D-PSGD on a torus follows the reference round by round") {
  expect_row(topology::Kind::torus, reference_training(0.1),
             {{1, 1.855480754e+00},
              {10, 1.389712731e+00},
              {100, 1.104511751e-01},
              {1000, 6.305571529e-02}});
}

TEST_CASE("Founders begin in step in whatever order they hear of each other") {
  for (std::uint64_t seed = 1; seed <= full_or(40U, 5U); ++seed) {
    CAPTURE(seed);
    const optim::Options training = reference_training(0.1);
    sim::Options options = reference_world(16, topology::Kind::torus, training);
    options.base.goal.rounds = 10;
    options.seed = seed;
    options.network.jitter = std::chrono::milliseconds(40);
    const auto error = error_by_round(sim::simulate(options, reference_trainers(training)));
    CHECK(std::abs(error.at(1) - 1.855480754) <= 1e-8);
    CHECK(std::abs(error.at(10) - 1.389712731) <= 1e-8);
  }
}

TEST_CASE("Pipelined D-PSGD on a ring follows the reference round by round") {
  expect_row(topology::Kind::ring, pipelined(0.1),
             {{1, 1.857365205e+00},
              {10, 1.432946441e+00},
              {100, 4.683270580e-01},
              {1000, 4.587217475e-01}});
}

TEST_CASE("Gradient tracking follows the reference round by round") {
  expect_row(topology::Kind::ring, training_by(optim::algorithm_named("gt"), 0.1),
             {{1, 1.855937474e+00},
              {10, 1.407353603e+00},
              {100, 9.658200177e-02},
              {1000, 2.346412837e-10}});
  expect_row(topology::Kind::torus, training_by(optim::algorithm_named("gt"), 0.1),
             {{1, 1.855480754e+00},
              {10, 1.385745484e+00},
              {100, 8.541739802e-02},
              {1000, 6.196937671e-12}});
}

TEST_CASE("Exact diffusion follows the reference round by round") {
  expect_row(topology::Kind::ring, training_by(optim::algorithm_named("ed"), 0.1),
             {{1, 1.856303922e+00},
              {10, 1.404374481e+00},
              {100, 8.509944394e-02},
              {1000, 8.207503256e-12}});
  expect_row(topology::Kind::torus, training_by(optim::algorithm_named("ed"), 0.1),
             {{1, 1.856012030e+00},
              {10, 1.386516517e+00},
              {100, 8.535082478e-02},
              {1000, 6.118754164e-12}});
}

// By the published iteration, in plain numbers (tests/sim/published_test.cpp).
TEST_CASE("EXTRA follows the reference round by round") {
  expect_row(topology::Kind::ring, training_by(optim::algorithm_named("extra"), 0.1),
             {{1, 1.857365205e+00},
              {10, 1.405600193e+00},
              {100, 8.500716993e-02},
              {1000, 7.191863345e-12}});
  expect_row(topology::Kind::torus, training_by(optim::algorithm_named("extra"), 0.1),
             {{1, 1.857365205e+00},
              {10, 1.387224196e+00},
              {100, 8.526784707e-02},
              {1000, 6.238953587e-12}});
}

TEST_CASE("Quasi-global momentum follows the reference round by round") {
  expect_row(topology::Kind::ring, training_by(optim::algorithm_named("qg"), 0.01),
             {{1, 1.910622788e+00},
              {10, 1.832948995e+00},
              {100, 1.987505962e-01},
              {1000, 6.942291109e-02}});
  expect_row(topology::Kind::torus, training_by(optim::algorithm_named("qg"), 0.01),
             {{1, 1.910618352e+00},
              {10, 1.832300464e+00},
              {100, 1.832171298e-01},
              {1000, 6.841201075e-03}});
}

TEST_CASE("ADMM follows the reference round by round") {
  optim::Options training = training_by(optim::algorithm_named("admm"), 0.1);
  training.relaxation = 0.5;
  training.penalty = 0.5;
  expect_row(topology::Kind::ring, training,
             {{1, 1.592726589e+00},
              {10, 6.128121053e-01},
              {100, 1.082367216e-04},
              {1000, 6.453111036e-16}});
  expect_row(topology::Kind::torus, training,
             {{1, 1.702186690e+00},
              {10, 4.471019597e-01},
              {100, 2.183631523e-06},
              {1000, 1.013321707e-15}});
  training.penalty = 0.1;
  expect_row(topology::Kind::ring, training,
             {{1, 1.479446804e+00},
              {10, 9.959113236e-01},
              {100, 1.468726917e-01},
              {1000, 1.263351692e-07}});
}

TEST_CASE("Local heavy ball on a ring follows the reference round by round") {
  optim::Options training = reference_training(0.01);
  training.local_optimizer = optim::LocalOptimizerKind::momentum;
  training.momentum = 0.9;
  expect_row(topology::Kind::ring, training,
             {{1, 1.910622788e+00},
              {10, 1.677079141e+00},
              {100, 4.447967459e-01},
              {1000, 4.434728101e-01}});
}

TEST_CASE("D-PSGD ends in its known fixed points") {
  expect_fixed_point(topology::Kind::ring, reference_training(0.2), 600, .64447692);
  expect_fixed_point(topology::Kind::ring, reference_training(0.05), 2000, .27604724);
  expect_fixed_point(topology::Kind::ring, reference_training(0.025), 4000, .15806931);
  expect_fixed_point(topology::Kind::torus, reference_training(0.2), 600, .11931668);
  expect_fixed_point(topology::Kind::torus, reference_training(0.05), 2000, .03246842);
  expect_fixed_point(topology::Kind::torus, reference_training(0.025), 4000, .01648224);
}

TEST_CASE("Pipelined D-PSGD ends in its known fixed points") {
  expect_fixed_point(topology::Kind::ring, pipelined(0.2), 600, .66013336);
  expect_fixed_point(topology::Kind::ring, pipelined(0.05), 2000, .28830038);
  expect_fixed_point(topology::Kind::ring, pipelined(0.025), 4000, .16631192);
}
