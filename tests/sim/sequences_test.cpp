// Exact algorithms over sequences of graphs (topology/sequence.h): rounds to the optimum as in the
// tables of docs/algorithms.md, on the reference problem with full gradients.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "tests/lengths.h"
#include "tests/sim/legal_ways.h"
#include "tests/sim/lockstep.h"
#include "topology/kinds.h"
#include "topology/sequence.h"

using namespace starling;
using namespace starling::test;
using optim::algorithm_named;
using topology::Kind;

namespace {

constexpr double kNear = 1e-8, kFar = 1e3;

struct Run {
  std::string algorithm, sequence;
  Kind kind = Kind::complete;
  std::size_t nodes = 16;
  double rate = .3;
};

Lockstep lockstep_of(const Run& run) {
  optim::Options training = reference_training(run.rate);
  training.algorithm = algorithm_named(run.algorithm);
  Lockstep lockstep(run.kind, training, {.n = run.nodes});
  lockstep.follow(run.sequence);
  return lockstep;
}

// Nothing: not within that many rounds.
std::optional<std::uint64_t> rounds_to_optimum(const Run& run, std::uint64_t most) {
  Lockstep lockstep = lockstep_of(run);
  for (std::uint64_t round = 1; round <= most; ++round) {
    lockstep.run(1);
    const double error = lockstep.error();
    if (error <= kNear) return round;
    if (!(error < kFar)) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("Over sequences exact algorithms take the rounds of an independent implementation") {
  struct Known {
    std::string algorithm;
    std::size_t nodes;
    double rate;
    double rounds;
  };
  for (const Known& known :
       {Known{"ed", 5, .3, 294}, Known{"ed", 13, .3, 222}, Known{"ed", 16, .3, 199},
        Known{"ed", 33, .3, 365}, Known{"gt", 5, .3, 299}, Known{"gt", 13, .3, 235},
        Known{"gt", 16, .3, 222}, Known{"gt", 33, .3, 2318}, Known{"ed", 5, .03, 3069},
        Known{"ed", 13, .03, 2410}, Known{"ed", 16, .03, 2312}, Known{"ed", 33, .03, 2136},
        Known{"gt", 13, .03, 2411}, Known{"gt", 33, .03, 2137}}) {
    if (known.rounds > 300 && !tries_full()) continue;
    CAPTURE(known.algorithm);
    CAPTURE(known.nodes);
    CAPTURE(known.rate);
    const auto rounds = rounds_to_optimum({.algorithm = known.algorithm,
                                           .sequence = "base:2",
                                           .nodes = known.nodes,
                                           .rate = known.rate},
                                          4000);
    REQUIRE(rounds.has_value());
    CHECK(static_cast<double>(*rounds) == doctest::Approx(known.rounds).epsilon(.1));
  }
}

// Of 100 nodes some train and average in pairs. Node-steps: rounds times their number.
TEST_CASE("Sampling takes the node-steps of an independent implementation to the optimum") {
  struct Known {
    int drawn;
    double steps;
  };
  for (const auto& [drawn, steps] :
       all_or_first<Known>(1, {{10, 28020}, {50, 27100}, {20, 28400}, {4, 27848}})) {
    CAPTURE(drawn);
    const auto rounds = rounds_to_optimum(
        {.algorithm = "ed", .sequence = fmt::format("sample:{}", drawn), .nodes = 100}, 10000);
    REQUIRE(rounds.has_value());
    CHECK(static_cast<double>(*rounds) * drawn == doctest::Approx(steps).epsilon(.1));
  }
}

// Two and three nodes at a rate of .03 take the longest, more than 6,000 rounds.
TEST_CASE("Over every sequence exact algorithms end in the optimum for every number of nodes") {
  for (const std::string algorithm : {"ed", "gt"})
    for (const double rate : all_or_first<double>(1, {.3, .1, .03}))
      for (const auto& [sequence, kind] : moving_sequences()) {
        if (topology::is_directed(kind)) continue;
        for (std::size_t nodes = 2; nodes <= 33;
             nodes += rate < .3 ? 4 : full_or<std::size_t>(1, 11)) {
          CAPTURE(algorithm);
          CAPTURE(rate);
          CAPTURE(to_string(sequence));
          CAPTURE(nodes);
          const Run run{algorithm, to_string(sequence),
                        kind == Kind::automatic ? Kind::complete : kind, nodes, rate};
          const std::uint64_t turns = sequence.row->rests ? nodes / 2 : 1;
          CHECK(rounds_to_optimum(run, 20000 * turns).has_value());
        }
      }
}
