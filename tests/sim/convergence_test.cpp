// Every node of the real core, against numbers computed elsewhere (docs/algorithms.md).
#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <map>

#include "sim/simulation.h"
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

// Root mean square over the nodes at the end, exact.
double final_error(const gossip::Summary& summary) {
  double sum = 0;
  for (const gossip::NodeSummary& node : summary.nodes)
    sum += std::pow(*node.distance_to_optimum, 2);
  return std::sqrt(sum / static_cast<double>(summary.nodes.size()));
}

void expect_row(topology::Kind kind, const optim::Options& training,
                const std::map<std::uint64_t, double>& wanted) {
  const gossip::Summary summary = run(kind, training, 1000);
  CHECK(summary.violations.empty());
  CHECK(summary.goal.reached);
  CHECK(summary.series.size() == 1001);
  const auto error = error_by_round(summary);
  for (const auto& [round, value] : wanted) {
    CAPTURE(round);
    CHECK(std::abs(error.at(round) - value) <= 1e-8 * value);
  }
  CHECK(std::abs(final_error(summary) - wanted.at(1000)) <= 1e-8 * wanted.at(1000));
}

void expect_fixed_point(topology::Kind kind, const optim::Options& training, std::uint64_t rounds,
                        double wanted) {
  const gossip::Summary summary = run(kind, training, rounds);
  CAPTURE(training.learning_rate);
  CHECK(std::abs(final_error(summary) - wanted) < 6e-9);  // eight decimals are known
}

optim::Options pipelined(double learning_rate) {
  optim::Options training = reference_training(learning_rate);
  training.algorithm = optim::Algorithm::dpsgd_pipelined;
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
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
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
