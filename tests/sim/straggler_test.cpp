// A slow node takes part for ever: whatever happens to it, the exact algorithms end in the optimum
// of all data, and D-PSGD at the floor of all. On problems of another shape than P1.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/lengths.h"
#include "tests/sim/cluster.h"

using namespace starling;
using namespace starling::test;
using optim::algorithm_named, optim::AlgorithmRow, topology::Kind;

namespace {

enum class Mishap { none, joins, returns, pauses, neighbor_restarts, loss };

struct Case {
  Kind kind;
  std::size_t nodes;
};

struct Pace {
  double straggler;
  Duration compute = 10ms;  // of a step of the others
  double rate = 0.05;
};

constexpr double kExact = 1e-9;
// Steps of 20 s: longer than any patience, and all that the others do meanwhile is beyond belief.
constexpr Pace kOutlasting{.straggler = 200, .compute = 100ms, .rate = 0.2};

ReferenceShape shape_of(std::size_t nodes) {
  return {.n = nodes, .d = 8, .m = 15, .h = 1.5, .noise = .2, .seed = 1000 + nodes};
}

Cluster cluster_of(const Case& one, const AlgorithmRow* algorithm, const Pace& pace) {
  optim::Options training = reference_training(pace.rate);
  training.algorithm = algorithm;
  training.penalty = 0.5;
  sim::Options options = reference_world(one.nodes, one.kind, training);
  options.straggler = pace.straggler;
  options.compute = pace.compute;
  options.base.expect = one.nodes;
  return {options, reference_trainers(training, shape_of(one.nodes))};
}

// The last node is the slow one.
void happen(Cluster& cluster, Mishap mishap) {
  sim::World& world = cluster.world;
  const std::size_t slow = world.options().nodes - 1;
  for (std::size_t node = 0; node < world.options().nodes; ++node)
    if (mishap != Mishap::joins || node != slow) world.start(node);
  world.run_until(Time(full_or(20s, 2s)));
  const auto restart = [&](std::size_t node) {
    world.crash(node);
    world.run_until(world.now() + full_or(10s, 1s));
    world.start(node);
  };
  if (mishap == Mishap::joins) world.start(slow);
  if (mishap == Mishap::returns) restart(slow);
  if (mishap == Mishap::pauses) world.pause(slow, world.now() + 3s);
  if (mishap == Mishap::neighbor_restarts) restart(slow - 1);
  if (mishap != Mishap::loss) return;
  world.network().options().loss = .3;
  world.run_until(world.now() + full_or(10s, 1s));
  world.network().options().loss = 0;
}

double error(const Cluster& cluster) {
  std::vector<std::size_t> all = cluster.world.running();
  const std::vector<double> optimum = reference_optimum(shape_of(all.size()), all);
  double sum = 0;
  for (const std::size_t node : all) {
    const std::vector<double> x = cluster.world.trainer(node).parameters();
    if (x.empty()) return INFINITY;
    for (std::size_t k = 0; k < x.size(); ++k) sum += std::pow(x[k] - optimum[k], 2);
  }
  return std::sqrt(sum / static_cast<double>(all.size()));
}

// The short form runs for a second and looks at no error.
bool becomes_exact(Cluster& cluster, Duration limit) {
  if (!tries_full()) {
    cluster.world.run_until(cluster.world.now() + 1s);
    return true;
  }
  for (const Time end = cluster.world.now() + limit; cluster.world.now() < end;) {
    cluster.world.run_until(cluster.world.now() + 20s);
    if (error(cluster) <= kExact) return true;
  }
  MESSAGE("error ", error(cluster), ", rounds apart ", cluster.round_spread());
  return false;
}

void expect_exact(const Case& one, const AlgorithmRow* algorithm, const Pace& pace, Mishap mishap) {
  const std::string name(algorithm->name);
  CAPTURE(name);
  CAPTURE(one.nodes);
  CAPTURE(pace.straggler);
  CAPTURE(static_cast<int>(mishap));
  Cluster cluster = cluster_of(one, algorithm, pace);
  happen(cluster, mishap);
  CHECK(becomes_exact(cluster, from_seconds(200 * (1 + pace.straggler))));
  if (tries_full()) CHECK(cluster.round_spread() <= 8);
  for (const sim::Violation& violation : cluster.checker.violations())
    FAIL_CHECK(sim::to_text(violation, 1));
}

// TEST_ALL=1 tries all of them, which takes long.
bool tries_all() {
  return std::getenv("TEST_ALL") != nullptr;
}

std::vector<Case> all_cases() {
  return {{Kind::ring, 8}, {Kind::grid, 12}, {Kind::torus, 16}, {Kind::ring, 3}, {Kind::ring, 2}};
}

void expect_exact_after(Mishap mishap) {
  const std::vector<Case> some = {{Kind::grid, 12}};
  for (const Case& one : tries_all() ? all_cases() : some)
    for (const AlgorithmRow* const algorithm :
         all_or_first(1, {algorithm_named("ed"), algorithm_named("gt"), algorithm_named("admm")}))
      for (const double straggler : {1., 10., 30., 50.})
        if (tries_all() || straggler == 30) expect_exact(one, algorithm, {straggler}, mishap);
}

}  // namespace

TEST_CASE("A slow node is one of all from the start") {
  expect_exact_after(Mishap::none);
}

TEST_CASE("A slow node that joins becomes one of all") {
  expect_exact_after(Mishap::joins);
}

TEST_CASE("A slow node that returns becomes one of all again") {
  expect_exact_after(Mishap::returns);
}

TEST_CASE("A slow node that pauses is one of all") {
  expect_exact_after(Mishap::pauses);
}

TEST_CASE("A slow node whose neighbour restarts is one of all") {
  expect_exact_after(Mishap::neighbor_restarts);
}

TEST_CASE("A slow node on a network that lost much is one of all") {
  expect_exact_after(Mishap::loss);
}

TEST_CASE("A node whose steps outlast all patience is one of all") {
  for (const Mishap mishap : {Mishap::none, Mishap::joins, Mishap::returns, Mishap::pauses,
                              Mishap::neighbor_restarts, Mishap::loss})
    for (const Case& one : all_cases())
      for (const AlgorithmRow* const algorithm :
           {algorithm_named("ed"), algorithm_named("gt"), algorithm_named("admm")}) {
        const bool is_cheap = one.kind != Kind::torus && one.nodes != 8 &&
                              algorithm == algorithm_named("ed") &&
                              (tries_full() || one.nodes == 2);
        if (tries_all() || (is_cheap && mishap == Mishap::none))
          expect_exact(one, algorithm, kOutlasting, mishap);
      }
}

TEST_CASE("D-PSGD keeps the floor of all whatever happens to a slow node") {
  Cluster even = cluster_of({Kind::grid, 12}, algorithm_named("dpsgd"), {1});
  even.start_all();
  if (tries_full()) even.world.run_until(Time(60s));
  for (const Mishap mishap :
       all_or_first(1, {Mishap::returns, Mishap::none, Mishap::joins, Mishap::pauses,
                        Mishap::neighbor_restarts, Mishap::loss})) {
    CAPTURE(static_cast<int>(mishap));
    Cluster cluster = cluster_of({Kind::grid, 12}, algorithm_named("dpsgd"), {10});
    happen(cluster, mishap);
    cluster.world.run_until(cluster.world.now() + full_or(60s, 1s));
    if (!tries_full()) continue;
    CHECK(error(cluster) == doctest::Approx(error(even)).epsilon(.01));
  }
}
