// The battery: the same questions to every algorithm, in single and in double precision.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "optim/codec/codec.h"
#include "tests/sim/battery.h"

using namespace starling;
using namespace starling::test;
using topology::Kind;
using namespace std::string_literals;

namespace {

constexpr std::size_t kLost = 5, kDonor = 6;  // neighbours
// Of the short form, where nothing is asked of what only many rounds show.
constexpr std::uint64_t kBriefRounds = 10;

Row row_of(const std::string& name, double rate) {
  Row row = *std::ranges::find(all_rows(), name, &Row::name);
  row.rate = rate;
  return row;
}

template <class S>
double error_after(std::uint64_t rounds, const Row& row, Kind kind,
                   const ReferenceShape& shape = {}) {
  Lockstep lockstep = lockstep_of<S>(row, kind, shape);
  lockstep.run(full_or(rounds, kBriefRounds));
  return lockstep.error();
}

// Of adpsgd: the mean error of 500 rounds, after 1000.
template <class S>
double noisy_floor(double rate, std::uint64_t seed) {
  Lockstep lockstep = lockstep_of<S>(row_of("adpsgd", rate));
  lockstep.draw_from(seed);
  lockstep.run(full_or<std::uint64_t>(1000, kBriefRounds));
  if (!tries_full()) return lockstep.error();
  double sum = 0;
  for (int round = 0; round < 500; ++round) {
    lockstep.run(1);
    sum += lockstep.error() / 500;
  }
  return sum;
}

// All data on one computer: quasi-global momentum, which is gradient descent where beta is 0.
struct Central {
  double rate, beta;
  Vector x = Vector(10), m = Vector(10);

  void step() {
    const Vector g = mean(gradients(std::vector<Vector>(16, x)));
    for (std::size_t k = 0; k < x.size(); ++k) {
      const double moved = rate * (beta * m[k] + g[k]);
      x[k] -= moved;
      m[k] = beta * m[k] + (1 - beta) * moved / rate;
    }
  }
};

// One small, one with the same optimum for all nodes, one of any kind.
std::vector<ReferenceShape> draw_shapes(std::uint64_t seed) {
  Prng prng(seed);
  std::vector<ReferenceShape> shapes(3);
  for (ReferenceShape& shape : shapes) {
    shape.n = 6 + prng.below(15);
    shape.d = 2 + prng.below(11);
    shape.m = shape.d + prng.below(20);
    shape.h = prng.uniform(0.5, 2);
    shape.noise = prng.uniform(0, 0.5);
    shape.seed = prng.below(1'000'000);
  }
  shapes[0].n = 5, shapes[0].d = 3;
  shapes[1].h = 0;
  return shapes;
}

// It ends in the optimum of those present, or else where a run of theirs from the beginning ends.
template <class S>
void expect_end(const Row& row, Lockstep& lockstep, Lockstep beginning) {
  lockstep.draw_from(7);
  if (!tries_full()) return lockstep.run(kBriefRounds);
  lockstep.run(row.rounds);
  if (row.is_exact) {
    CHECK(lockstep.error(reference_optimum({}, lockstep.present())) < kAccuracy<S>);
    return;
  }
  beginning.draw_from(7);
  beginning.run(row.rounds);
  CHECK(distance(lockstep, beginning) < kAccuracy<S>);
}

// How many rounds of 30 leave all models the same, bit for bit.
int rounds_alike(Lockstep& one, Lockstep& other) {
  for (int round = 0; round < 30; ++round) {
    one.run(1);
    other.run(1);
    if (models_of(one) != models_of(other)) return round;
  }
  return 30;
}

// sum_i y_i - g_i for gt and sum_i y_i for ed, over the number of nodes, as their offers show it.
template <class S>
Vector mean_of_flows(Lockstep& lockstep, const Row& row) {
  const bool is_tracked = row.algorithm == optim::algorithm_named("gt");
  const std::vector<Vector> x = models_of(lockstep), g = gradients(x);
  lockstep.run(1);
  std::vector<Vector> flows;
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::vector<S> scratch(10);
    const Payload offered = lockstep.offer(i).offer;
    optim::VectorReader<S> reader(*kFormat<S>, offered);
    reader.skip(is_tracked ? 10 : 0);
    const std::span<const S> offer = reader.next(scratch);
    flows.emplace_back(10);
    for (std::size_t k = 0; k < offer.size(); ++k)
      flows[i][k] = is_tracked ? offer[k] - g[i][k] : x[i][k] - row.rate * g[i][k] - offer[k];
  }
  return mean(flows);
}

}  // namespace

TEST_CASE("Every algorithm of the registry is asked by the battery") {
  for (const optim::AlgorithmRow& algorithm : optim::algorithms()) {
    CAPTURE(std::string(algorithm.name));
    CHECK(std::ranges::count(all_rows(), &algorithm, &Row::algorithm) > 0);
  }
}

TEST_CASE_TEMPLATE("An exact algorithm ends in the optimum", S, float, double) {
  for_rows(is_exact, [](const Row& row) {
    const double error = error_after<S>(row.rounds, row, Kind::torus);
    CAPTURE(error);
    if (tries_full()) CHECK(error < kAccuracy<S>);
  });
}

TEST_CASE_TEMPLATE("A biased algorithm ends at its known floor", S, float, double) {
  struct Floor {
    std::string name;
    Kind kind;
    double rate;
    std::uint64_t rounds;
    double error;
  };
  for (const Floor& floor :
       std::vector<Floor>{{"dpsgd", Kind::ring, 0.1, 1000, .44347281},
                          {"dpsgd", Kind::torus, 0.1, 1000, .06305572},
                          {"dpsgd-pipelined", Kind::ring, 0.1, 1000, .45872175},
                          {"qg", Kind::ring, 0.01, 1000, .06942291},  // still on its way
                          {"qg", Kind::torus, 0.1, 1500, .06305572}}) {
    CAPTURE(floor.name);
    const double error = error_after<S>(floor.rounds, row_of(floor.name, floor.rate), floor.kind);
    CAPTURE(error);
    if (!tries_full()) continue;
    CHECK(std::abs(error - floor.error) < std::max(6e-9, kAccuracy<S>));  // of eight decimals
  }
}

TEST_CASE_TEMPLATE("The floor of pairwise averaging falls with the learning rate", S, float,
                   double) {
  struct Floor {
    double rate, error;
  };
  for (const Floor& floor : {Floor{0.1, .118}, {0.05, .070}, {0.025, .044}}) {
    CAPTURE(floor.rate);
    const double error = noisy_floor<S>(floor.rate, 1);
    if (tries_full()) CHECK(error == doctest::Approx(floor.error).epsilon(.12));
  }
}

TEST_CASE_TEMPLATE("Local steps raise the floor of D-PSGD", S, float, double) {
  Row row = row_of("dpsgd", 0.1);
  row.local_steps = 5;
  const double error = error_after<S>(1000, row, Kind::ring);
  CAPTURE(error);
  if (tries_full()) CHECK(std::abs(error - .87562704) < std::max(6e-9, kAccuracy<S>));
}

TEST_CASE_TEMPLATE("On the complete graph all nodes move as one computer would", S, float, double) {
  // gt too, from the first round on: it averages x behind the step and not before, and y = g at
  // first. admm has no such equality, nor have those that exchange by pairs, with one node's
  // gradient at a time; ed and dpsgd-pipelined average half, or too early, and follow below.
  for_rows(is_one_of({"dpsgd", "qg", "gt"}), [](const Row& row) {
    Lockstep lockstep = lockstep_of<S>(row, Kind::complete);
    Central central{row.rate, row.algorithm == optim::algorithm_named("qg") ? 0.9 : 0};
    double most = 0;
    for (int round = 0; round < full_or(100, 30); ++round) {
      lockstep.run(1);
      central.step();
      most = std::max(most, lockstep.error(central.x));
    }
    CHECK(most < kRounding<S>);
  });
}

TEST_CASE_TEMPLATE("The mean of the models moves by the mean of the gradients", S, float, double) {
  // Each gradient at its own model, so that nodes that agree descend as one.
  for_rows(is_one_of({"dpsgd", "dpsgd-pipelined", "ed", "gt", "extra"}), [](const Row& row) {
    for (const Kind kind : {Kind::complete, Kind::torus}) {
      Lockstep lockstep = lockstep_of<S>(row, kind);
      double most = 0;
      for (int round = 0; round < full_or(100, 30); ++round) {
        Vector expected = mean(models_of(lockstep));
        const Vector g = mean(gradients(models_of(lockstep)));
        for (std::size_t k = 0; k < g.size(); ++k) expected[k] -= row.rate * g[k];
        lockstep.run(1);
        most = std::max(most, distance(mean(models_of(lockstep)), expected));
      }
      CHECK(most < kRounding<S>);
    }
  });
}

TEST_CASE_TEMPLATE("Without steps the mean of the models stays", S, float, double) {
  // Not in admm, whose models follow the objectives, nor in pairwise-ed, where a node subtracts its
  // y when its turn comes: what those keep is below.
  const auto applies = is_one_of({"dpsgd", "dpsgd-pipelined", "qg", "dpsgd with an outer step",
                                  "noloco", "ed", "gt", "extra", "adpsgd"});
  for_rows(applies, [](const Row& row) {
    Row idle = row;
    idle.rate = 0;
    Lockstep lockstep = lockstep_of<S>(idle);
    scatter<S>(lockstep, 11);
    const Vector before = mean(models_of(lockstep));
    CHECK(lockstep.error(before) > 1);
    lockstep.run(full_or(200U, 40U));
    if (tries_full()) CHECK(lockstep.error(before) < kAccuracy<S>);
    CHECK(distance(mean(models_of(lockstep)), before) < kRounding<S>);
  });
}

TEST_CASE_TEMPLATE("What came over the edges adds up to nothing", S, float, double) {
  for_rows(is_one_of({"ed", "gt"}), [](const Row& row) {
    Lockstep lockstep = lockstep_of<S>(row);
    scatter<S>(lockstep, 12);
    for (const std::uint64_t rounds : all_or_first<std::uint64_t>(3, {1, 10, 100, 1000})) {
      lockstep.run(rounds);
      CHECK(distance(mean_of_flows<S>(lockstep, row), Vector(10)) < kRounding<S> / 50);
    }
  });
}

TEST_CASE_TEMPLATE("Where an exact algorithm ends does not depend on where it begins", S, float,
                   double) {
  for_rows(is_exact, [](const Row& row) {
    Lockstep lockstep = lockstep_of<S>(row);
    scatter<S>(lockstep, 13);
    lockstep.run(full_or(row.rounds, kBriefRounds));
    if (!tries_full()) return;
    CHECK(lockstep.error(mean(models_of(lockstep))) < kAccuracy<S>);
    CHECK(lockstep.error() < kAccuracy<S>);
  });
}

TEST_CASE_TEMPLATE("A node that crashed leaves nothing behind and comes back as one of all", S,
                   float, double) {
  for_rows(is_any, [](const Row& row) {
    Lockstep lockstep = lockstep_of<S>(row), without = lockstep_of<S>(row);
    lockstep.run(40);
    lockstep.crash(kLost);
    without.crash(kLost);
    expect_end<S>(row, lockstep, std::move(without));
    lockstep.come_back(kLost, kDonor);
    expect_end<S>(row, lockstep, lockstep_of<S>(row));
  });
}

TEST_CASE_TEMPLATE("Who comes back copies a model and is never far from the optimum again", S,
                   float, double) {
  for_rows(is_exact, [](const Row& row) {
    Lockstep lockstep = lockstep_of<S>(row);
    lockstep.run(full_or<std::uint64_t>(row.rounds, 60));
    lockstep.crash(kLost);
    lockstep.come_back(kLost, kDonor);
    const optim::Trainer& newcomer = lockstep.trainer(kLost);
    CHECK(newcomer.parameters() == lockstep.trainer(kDonor).parameters());
    double most = 0;
    for (int round = 0; round < 50; ++round) {
      lockstep.run(1);
      most = std::max(most, distance(newcomer.parameters(), newcomer.optimum()));
    }
    // What its edges held, so much of its own optimum is in it; from zero it would be 1.92.
    if (tries_full()) CHECK(most < .64);
  });
}

TEST_CASE_TEMPLATE(
    "With full batches a node goes on from a snapshot bit for bit as after its edges ended", S,
    float, double) {
  for_rows(is_any, [](const Row& row) {
    Lockstep restored = lockstep_of<S>(row), renewed = lockstep_of<S>(row);
    for (Lockstep* const lockstep : {&restored, &renewed}) {
      lockstep->run(30);
      lockstep->crash(kLost);
    }
    restored.come_back(kLost, kLost);
    renewed.come_back(kLost);
    CHECK(rounds_alike(restored, renewed) == 30);
  });
}

TEST_CASE_TEMPLATE(
    "Where nothing belongs to edges and batches are full a snapshot is all of a node", S, float,
    double) {
  const auto applies =
      is_one_of({"dpsgd", "dpsgd-pipelined", "qg", "dpsgd with an outer step", "noloco", "adpsgd"});
  for_rows(applies, [](const Row& row) {
    Lockstep restored = lockstep_of<S>(row), untouched = lockstep_of<S>(row);
    restored.run(30);
    untouched.run(30);
    restored.crash(kLost);
    restored.come_back(kLost, kLost);
    CHECK(rounds_alike(restored, untouched) == 30);
  });
}

TEST_CASE_TEMPLATE("An exact algorithm solves the reference problem of any shape", S, float,
                   double) {
  for_rows(is_exact, [](const Row& row) {
    for (const ReferenceShape& shape : draw_shapes(2026)) {
      const auto& [n, d, m, h, noise, seed] = shape;
      CAPTURE(fmt::format("({}, {}, {}, {}, {}, {})", n, d, m, h, noise, seed));
      Lockstep lockstep = lockstep_of<S>(row, Kind::automatic, shape);
      if (!tries_full()) {
        lockstep.run(kBriefRounds);
        continue;
      }
      for (int k = 0; k < 20 && lockstep.error() >= kAccuracy<S>; ++k) lockstep.run(50);
      CHECK(lockstep.error() < kAccuracy<S>);
    }
  });
}

TEST_CASE_TEMPLATE("With two bytes a number an exact algorithm ends within their roundings", S,
                   float, double) {
  // The model has size 2, its numbers .6: one of them is rounded by up to 2.4e-4 in f16 and 2e-3 in
  // bf16.
  // Sums are longer than what is new in them, and settings refuse them in two bytes.
  const auto bears_it = [](const Row& row) { return is_exact(row) && !row.algorithm->needs.sums; };
  for_rows(bears_it, [](const Row& row) {
    for (const auto& [name, limit] : {std::pair("f16"s, 6e-4), std::pair("bf16"s, 5e-3)}) {
      CAPTURE(name);
      Lockstep lockstep = lockstep_of<S>(row, Kind::torus, {}, optim::format_named(name));
      lockstep.run(full_or(2 * row.rounds, kBriefRounds));
      if (tries_full()) CHECK(lockstep.error() < limit);
    }
  });
}

TEST_CASE("With one optimum for all D-PSGD is off by the noise alone") {
  const auto floor = [](double noise) {
    return error_after<double>(500, row_of("dpsgd", 0.3), Kind::torus, {.h = 0, .noise = noise});
  };
  const double known = floor(0.1);
  if (!tries_full()) return;
  CHECK(known > 1e-3);
  CHECK(floor(0.2) == doctest::Approx(2 * known).epsilon(1e-9));
  CHECK(floor(0) < kAccuracy<double>);
}
