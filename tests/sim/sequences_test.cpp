// Exact algorithms over sequences of graphs (topology/sequence.h): rounds to the optimum as in the
// tables of docs/algorithms.md, on the reference problem with full gradients.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "tests/lengths.h"
#include "tests/sim/cluster.h"
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
  std::size_t groups = 0;
};

Lockstep lockstep_of(const Run& run) {
  optim::Options training = reference_training(run.rate);
  training.algorithm = algorithm_named(run.algorithm);
  Lockstep lockstep(run.kind, training, {.n = run.nodes});
  if (run.groups > 0) lockstep.group(run.groups);
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

// Three groups of four.
TEST_CASE("Over clusters exact algorithms take the rounds of an independent implementation") {
  struct Known {
    std::string algorithm;
    int every;
    double rate, rounds;
  };
  for (const Known& known : all_or_first<Known>(2, {{"ed", 10, .3, 415},
                                                    {"ed", 10, .1, 742},
                                                    {"ed", 30, .3, 544},
                                                    {"ed", 30, .1, 1118},
                                                    {"gt", 10, .1, 1320}})) {
    CAPTURE(known.algorithm);
    CAPTURE(known.every);
    CAPTURE(known.rate);
    const auto rounds = rounds_to_optimum({.algorithm = known.algorithm,
                                           .sequence = fmt::format("clusters:{}", known.every),
                                           .nodes = 12,
                                           .rate = known.rate,
                                           .groups = 3},
                                          6000);
    REQUIRE(rounds.has_value());
    CHECK(static_cast<double>(*rounds) == doctest::Approx(known.rounds).epsilon(.1));
  }
}

// Two groups of eight.
TEST_CASE("Over clusters of rings and of drawn graphs exact algorithms end in the optimum") {
  for (const auto& algorithm : all_or_first<std::string>(1, {"ed", "gt"}))
    for (const Kind kind : {Kind::ring, Kind::random}) {
      CAPTURE(algorithm);
      CAPTURE(std::string(topology::to_string(kind)));
      CHECK(rounds_to_optimum({.algorithm = algorithm,
                               .sequence = "clusters:10",
                               .kind = kind,
                               .nodes = 16,
                               .rate = .1,
                               .groups = 2},
                              8000));
    }
}

TEST_CASE("A site that was cut off and a delegate that died leave all in the optimum") {
  std::ifstream file(std::string(STARLING_ROOT) + "/configs/scenarios/sites.txt");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  auto scenario = sim::parse_scenario(text);
  REQUIRE(scenario);
  optim::Options training = reference_training(.1);
  training.algorithm = algorithm_named("ed");
  sim::Options options = reference_world(scenario->nodes, Kind::automatic, training);
  options.base.topology.sequence = *topology::parse_sequence("clusters:10");
  options.compute = std::chrono::milliseconds(full_or(40, 100));
  const ReferenceShape shape{.n = scenario->nodes};
  gossip::Summary summary;
  const sim::Verdict verdict =
      sim::try_scenario(options, reference_trainers(training, shape), *scenario, nullptr, &summary);
  for (const sim::Violation& violation : verdict.violations)
    FAIL_CHECK(sim::to_text(violation, scenario->seed));
  CHECK(verdict.counts.cut_both_ways > 0);
  CHECK(verdict.counts.crashed == 1);
  for (const gossip::NodeSummary& node : summary.nodes) CHECK(*node.distance_to_optimum <= 1e-9);
}

TEST_CASE("Clusters without any group are warned of") {
  for (const std::size_t groups : {0U, 2U}) {
    const optim::Options training = reference_training(.1);
    sim::Options options = reference_world(4, Kind::automatic, training);
    options.base.topology.sequence = *topology::parse_sequence("clusters:4");
    options.groups = groups;
    Cluster cluster(options, training);
    cluster.start_all();
    cluster.world.run_until(Time(std::chrono::seconds(1)));
    const std::vector<std::string> warnings = cluster.world.status(0).warnings;
    REQUIRE(warnings.size() == (groups > 0 ? 0 : 1));
    for (const std::string& warning : warnings)
      CHECK(warning ==
            "no member has a node.group, so that each is a group of its own and averages in one "
            "round of 4 only (topology.sequence = clusters:4)");
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
