// Nodes that take unequal numbers of local steps a round, or weigh unequally: the traces that an
// independent implementation of the equations of docs/algorithms.md has too, and the limit, which
// is the optimum of the weighted sum by its normal equations.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "models/linear/weighted_objective.h"
#include "tests/lengths.h"
#include "tests/sim/cluster.h"
#include "tests/sim/legal_ways.h"
#include "tests/sim/lockstep.h"

using namespace starling;
using namespace starling::test;
using optim::algorithm_named;
using topology::Kind;

namespace {

constexpr std::uint64_t kMatchings = 77;  // the seed

std::vector<double> paces_of(std::size_t nodes) {
  std::vector<double> paces;
  for (std::size_t node = 0; node < nodes; ++node)
    paces.push_back(std::array{1.0, 3.0, 2.0}[node % 3]);
  return paces;
}

std::vector<double> ones(std::size_t nodes) {
  return std::vector<double>(nodes, 1.0);
}

// Errors after 1, 10 and 400 rounds, and how near to its own optimum the last is.
struct Trace {
  std::string algorithm;
  Kind kind;
  bool is_matched;
  std::size_t local_steps;
  bool by_steps;
  std::array<double, 3> errors;
  double away;
};

optim::Options training_of(const Trace& trace) {
  optim::Options training = reference_training(.05);
  training.algorithm = algorithm_named(trace.algorithm);
  training.local_steps.fixed = trace.local_steps;
  training.weighs_steps = trace.by_steps;
  return training;
}

// To eight digits, small ones to five.
void check_error(double found, double known) {
  CHECK(found == doctest::Approx(known).epsilon(known > 1e-3 ? 1e-8 : 1e-5));
}

void check_trace(const Trace& trace, const ReferenceShape& shape) {
  CAPTURE(trace.algorithm);
  CAPTURE(std::string(topology::to_string(trace.kind)));
  CAPTURE(trace.by_steps);
  CAPTURE(shape.n);
  Lockstep lockstep(trace.kind, training_of(trace), shape);
  lockstep.run_at(paces_of(shape.n));
  if (trace.is_matched) lockstep.follow("matching", kMatchings);
  std::uint64_t round = 0;
  for (const std::size_t k : {0U, 1U, 2U}) {
    const std::uint64_t until = std::array<std::uint64_t, 3>{1, 10, 400}[k];
    lockstep.run(until - round);
    round = until;
    check_error(lockstep.error(), trace.errors[k]);
  }
  const std::vector<double> weights = trace.by_steps ? paces_of(shape.n) : ones(shape.n);
  const std::vector<double> own = weighted_optimum(std::vector(shape.n, shape), weights);
  CHECK(lockstep.error(own) <= trace.away);
}

// Node i holds 8 + 4 i rows, and every row weighs the same.
ReferenceShape shape_of(std::size_t node) {
  return {.n = 5, .m = 8 + 4 * node};
}
sim::TrainerFactory weighted_trainers(const optim::Options& training) {
  return [training](std::size_t node) {
    auto weighted = std::make_unique<models::WeightedObjective<double>>(
        reference_objective(shape_of(node), node));
    return optim::make_trainer<double>(training, std::move(weighted), node, [] { return Time{}; });
  };
}

// A world of five nodes on a ring, whose last is four times slower.
sim::Options slow_world(const optim::Options& training) {
  sim::Options options = reference_world(5, Kind::ring, training);
  options.base.expect = 5;
  options.straggler = 4;
  return options;
}

constexpr std::size_t kNone = SIZE_MAX;

// The largest distance of a number of all nodes but `without`.
double error_of(const Cluster& cluster, const std::vector<double>& optimum,
                std::size_t without = kNone) {
  double most = 0;
  for (const std::size_t node : cluster.world.running()) {
    if (node == without) continue;
    const std::vector<double> x = cluster.world.trainer(node).parameters();
    for (std::size_t k = 0; k < optimum.size(); ++k)
      most = std::max(most, x.empty() ? 1.0 : std::abs(x[k] - optimum[k]));
  }
  return most;
}

}  // namespace

TEST_CASE("Nodes that take unequal numbers of steps go the known way to the optimum of all") {
  for (const Trace& trace : std::vector<Trace>{
           {"ed", Kind::ring, false, 1, false, {1.863441751, 1.499068911, 1.929112968e-4}, 1e-3},
           {"ed", Kind::torus, false, 2, false, {1.813627500, 1.158936166, 5.128086982e-8}, 1e-7},
           {"ed", Kind::complete, true, 2, false, {1.815737852, 1.165605610, 4.963668514e-8}, 1e-7},
           {"gt", Kind::ring, false, 1, false, {1.863113038, 1.427860961, 7.788351236e-5}, 1e-3},
           {"gt", Kind::torus, false, 2, false, {1.811907185, 1.041637972, 1.487926806e-9}, 1e-8}})
    check_trace(trace, {});
}

TEST_CASE("Nodes that weigh by their steps go the known way to the optimum of that sum") {
  for (const Trace& trace : std::vector<Trace>{
           {"ed", Kind::ring, false, 1, true, {1.863441751, 1.458432625, .2332602808}, 1e-4},
           {"ed", Kind::torus, false, 2, true, {1.813627500, 1.105419045, .2332396405}, 5e-9},
           {"ed", Kind::complete, true, 2, true, {1.815737852, 1.113525922, .2332396404}, 5e-9},
           {"gt", Kind::ring, false, 1, true, {1.863113038, 1.460887804, .2332166973}, 1e-3},
           {"gt", Kind::torus, false, 2, true, {1.811907185, 1.104933400, .2332396405}, 5e-9}})
    check_trace(trace, {});
}

TEST_CASE("Unequal steps go the known way on a problem of another shape") {
  const ReferenceShape shape{.n = 10, .d = 4, .m = 12, .h = .5, .noise = .3, .seed = 7};
  for (const Trace& trace : std::vector<Trace>{
           {"ed", Kind::ring, false, 1, false, {.9770877169, .7380901256, 2.195120721e-5}, 1e-4},
           {"gt", Kind::ring, false, 1, false, {.9770068741, .6899810287, 1.762628530e-6}, 1e-5},
           {"ed", Kind::ring, false, 1, true, {.9770877169, .7131008386, .08085156152}, 1e-4},
           {"gt", Kind::ring, false, 1, true, {.9770068741, .7133160181, .08085150075}, 1e-4},
           {"ed", Kind::complete, true, 2, false, {.9442986649, .5458006149, 2.838238992e-9}, 1e-8},
           {"ed", Kind::complete, true, 2, true, {.9442986649, .5098497468, .08084971352}, 1e-9}})
    check_trace(trace, shape);
}

TEST_CASE("Nodes that weigh by their samples go the known way to the optimum of all samples") {
  std::vector<ReferenceShape> shapes;
  std::vector<double> rows;
  for (std::size_t node = 0; node < 5; ++node) {
    shapes.push_back(shape_of(node));
    rows.push_back(static_cast<double>(shapes.back().m));
  }
  const std::vector<double> optimum = weighted_optimum(shapes, rows);
  struct Row {
    const char* algorithm;
    std::array<double, 2> errors;
  };
  for (const Row& row :
       {Row{"ed", {2.332763375, .7064725898}}, Row{"gt", {2.323722226, .7056010341}}}) {
    CAPTURE(std::string(row.algorithm));
    optim::Options training = reference_training(.2);
    training.algorithm = algorithm_named(row.algorithm);
    training.local_steps.fixed = 2;
    Lockstep lockstep(Kind::ring, 5, training, weighted_trainers(training));
    lockstep.run(1);
    check_error(lockstep.error(optimum), row.errors[0]);
    lockstep.run(9);
    check_error(lockstep.error(optimum), row.errors[1]);
    lockstep.run(990);
    CHECK(lockstep.error(optimum) <= 1e-13);
  }
}

TEST_CASE("A fast node fills the wait for a slow one with steps and the limit stays") {
  for (const char* algorithm : {"ed", "gt"}) {
    CAPTURE(std::string(algorithm));
    optim::Options training = reference_training(.05);
    training.algorithm = algorithm_named(algorithm);
    sim::Options options = slow_world(training);
    options.base.local_steps.pace = std::nullopt;
    Cluster cluster(options, reference_trainers(training, {.n = 5}));
    cluster.start_all();
    const auto steps = [&](std::size_t node) { return cluster.world.status(node).run.local_steps; };
    const auto is_full = [&] { return steps(0) == 3 && steps(3) == 3 && steps(4) == 1; };
    CHECK(cluster.comes_true(is_full, 20s));
    CHECK_FALSE(cluster.comes_true([&] { return !is_full(); }, 10s));
    if (tries_full()) CHECK(cluster.comes_true([&] { return cluster.error() < 1e-9; }, 600s));
  }
}

TEST_CASE("Every exact way of averaging ends in the optimum of the weights with unequal steps") {
  const ReferenceShape shape{.n = 5, .d = 4};
  const std::vector<double> paces = {.5, 1, 3, 1.5, 2};
  for (const LegalWay& way : legal_ways())
    for (const bool by_steps : {false, true}) {
      if (!way.algorithm->is_exact || !allows_unequal_steps(*way.algorithm, by_steps)) continue;
      CAPTURE(way.name);
      CAPTURE(by_steps);
      optim::Options training = reference_training(.05);
      training.algorithm = way.algorithm;
      training.local_steps.fixed = 2;
      training.weighs_steps = by_steps;
      sim::Options options = slow_world(training);
      options.base.schedule = way.schedule;
      options.base.topology.sequence = way.sequence;
      if (way.sequence.moves()) options.base.topology.kind = way.kind;
      options.base.quorum = way.quorum;
      options.base.missing = way.missing;
      options.paces = paces;
      options.network.loss = .1;
      Cluster cluster(options, reference_trainers(training, shape));
      cluster.start_all();
      cluster.world.run_until(Time(2s));
      const std::vector<double> optimum =
          weighted_optimum(std::vector(shape.n, shape), by_steps ? paces : ones(shape.n));
      const auto has_ended = [&] { return error_of(cluster, optimum) < 1e-8; };
      if (tries_full()) CHECK(cluster.comes_true(has_ended, 600s));
    }
}

TEST_CASE("Equal nodes keep their pace") {
  const optim::Options training = reference_training(.05);
  sim::Options options = reference_world(5, Kind::ring, training);
  options.base.expect = 5;
  options.base.local_steps.pace = std::nullopt;
  options.network.jitter = options.compute;
  Cluster cluster(options, reference_trainers(training, {.n = 5}));
  cluster.start_all();
  CHECK_FALSE(cluster.comes_true(
      [&] {
        for (const std::size_t node : {0U, 1U, 2U, 3U, 4U})
          if (cluster.world.status(node).run.local_steps > 1) return true;
        return false;
      },
      60s));
}

TEST_CASE("Unequal steps end in the optimum through loss and crashes and joins") {
  for (const char* algorithm : {"ed", "gt"}) {
    CAPTURE(std::string(algorithm));
    optim::Options training = reference_training(.05);
    training.algorithm = algorithm_named(algorithm);
    sim::Options options = slow_world(training);
    options.paces = {2, 4, 1, .5};
    options.base.local_steps.fixed = training.local_steps.fixed = 2;
    options.network.loss = .3;
    Cluster cluster(options, reference_trainers(training, {.n = 5}));
    for (const std::size_t node : {0U, 1U, 2U, 4U}) cluster.world.start(node);
    cluster.world.run_until(Time(5s));
    cluster.world.start(3);
    cluster.world.run_until(Time(15s));
    cluster.world.crash(1);
    cluster.world.run_until(Time(25s));
    cluster.world.start(1);
    if (tries_full()) CHECK(cluster.comes_true([&] { return cluster.error() < 1e-9; }, 900s));
  }
}
