// A walk over the registries: whatever nodes may choose ends where it should, on a network that
// loses messages and beside a node that is slow. The data of all nodes have one optimum, in which
// no algorithm has a bias, so that one law holds for every row, and for every row to come.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "optim/codec/format.h"
#include "tests/lengths.h"
#include "tests/sim/cluster.h"
#include "tests/sim/legal_ways.h"

using namespace starling;
using namespace starling::test;
using optim::AlgorithmRow, optim::LocalOptimizerKind, optim::OptimizerRule;

namespace {

constexpr std::size_t kNodes = 5;
constexpr ReferenceShape kOneOptimum{.n = kNodes, .d = 4, .h = 0, .noise = 0};

sim::Options world_of(const LegalWay& way, const optim::Options& training) {
  return world_by(way, training, kNodes, .1);
}

// The largest distance of a node from the optimum.
double error_of(const Cluster& cluster) {
  std::vector<std::size_t> all(kNodes);
  std::iota(all.begin(), all.end(), 0U);
  const std::vector<double> optimum = reference_optimum(kOneOptimum, all);
  double most = 0;
  for (const std::size_t node : all) {
    const std::vector<double> x = cluster.world.trainer(node).parameters();
    if (x.empty()) return std::numeric_limits<double>::infinity();  // it has not begun
    double squared = 0;
    for (std::size_t k = 0; k < x.size(); ++k) squared += std::pow(x[k] - optimum[k], 2);
    most = std::max(most, std::sqrt(squared));
  }
  return most;
}

// Whether all nodes come as near within `limit`. In the short form: whether they run soundly.
void expect_to_end(const LegalWay& way, const optim::Options& given, double accuracy,
                   const std::vector<double>& paces = {}) {
  const optim::Options training = training_by(way, given);
  CAPTURE(way.name);
  constexpr Duration kLimit = 300s;
  sim::Options options = world_of(way, training);
  options.paces = paces;
  Cluster cluster(options, reference_trainers(training, kOneOptimum));
  cluster.start_all();
  cluster.world.run_until(Time(2s));
  while (tries_full() && error_of(cluster) > accuracy && cluster.world.now() < Time(kLimit))
    cluster.world.run_until(cluster.world.now() + 2s);
  if (tries_full()) CHECK(error_of(cluster) <= accuracy);
  for (const sim::Violation& violation : cluster.checker.violations())
    FAIL_CHECK(sim::to_text(violation, 1));
}

// The schedule that the algorithm has by default.
LegalWay usual_way(const AlgorithmRow& algorithm, std::string_view what) {
  LegalWay way{fmt::format("{} {}", algorithm.name, what), &algorithm};
  if (algorithm.needs.is_pairwise) way.schedule = gossip::schedule_named("pairwise");
  return way;
}

}  // namespace

TEST_CASE("Every legal way of averaging ends in the optimum that all nodes share") {
  for (const LegalWay& way : legal_ways()) expect_to_end(way, walk_training(*way.algorithm), 1e-6);
}

TEST_CASE("Every algorithm ends in the optimum that all nodes share by several local steps") {
  for (const AlgorithmRow& algorithm : optim::algorithms()) {
    optim::Options training = walk_training(algorithm);
    training.local_steps.fixed = 3;
    expect_to_end(usual_way(algorithm, "three local steps"), training, 1e-6);
  }
}

TEST_CASE("Every algorithm ends within the roundings of every format of numbers") {
  for (const AlgorithmRow& algorithm : optim::algorithms())
    for (const optim::Format& format : optim::formats()) {
      if (algorithm.needs.sums && format.width < sizeof(float)) continue;  // refused
      optim::Options training = walk_training(algorithm);
      training.codec = {.format = &format};
      const double rounding = format.width >= 8 ? 1e-6 : format.width >= 4 ? 1e-5 : .03;
      expect_to_end(usual_way(algorithm, format.name), training, rounding);
    }
}

// What a codec loses of a vector is in the next one.
TEST_CASE("Every legal way of averaging ends in the optimum with every codec that remembers") {
  for (const std::string& codec : compressed_forms())
    for (const auto& [way, training] : ways_with(codec)) expect_to_end(way, training, 1e-6);
}

// Of biased algorithms the bias would grow.
TEST_CASE("Every legal way of averaging ends in the optimum in parts and parts that travel late") {
  for (const char* codec : all_or_first<const char*>(1, {"i4", "f64", "auto", "top:50%"}))
    for (const LegalWay& way : legal_ways())
      for (const bool overlap : {false, true}) {
        optim::Options training = walk_training(*way.algorithm);
        training.codec = optim::wire_form_named(codec);
        training.codec.coding.parts = 2;
        training.overlap = overlap;
        if (!allows(way, training.codec) || !way.algorithm->is_exact) continue;
        if (way.schedule->is_pairwise) continue;
        if (overlap && (!allows_overlap(*way.algorithm) || way.schedule->is_loose)) continue;
        LegalWay named = way;
        named.name += fmt::format(" {} in parts{}", codec, overlap ? " late" : "");
        expect_to_end(named, training, 1e-6);
      }
}

TEST_CASE("Every legal way of averaging ends in the optimum with unequal local steps") {
  for (const char* codec : all_or_first<const char*>(1, {"f64", "i4"}))
    for (const LegalWay& way : legal_ways())
      for (const bool by_steps : {false, true}) {
        optim::Options training = walk_training(*way.algorithm);
        training.codec = optim::wire_form_named(codec);
        training.local_steps.fixed = 2;
        training.weighs_steps = by_steps;
        if (!allows(way, training.codec) || way.outer != optim::OuterKind::none) continue;
        if (!allows_unequal_steps(*way.algorithm, by_steps)) continue;
        LegalWay named = way;
        named.name += fmt::format(" {} unequal steps{}", codec, by_steps ? " that weigh" : "");
        expect_to_end(named, training, 1e-6, {.5, 1, 3});
      }
}

// A step of adam is as long as the learning rate, whatever the gradient.
TEST_CASE("Every algorithm ends in the optimum with every local optimizer that it allows") {
  for (const char* codec : all_or_first<const char*>(1, {"i4", "f64"}))
    for (const AlgorithmRow& algorithm : optim::algorithms())
      for (const LocalOptimizerKind kind : optim::local_optimizers()) {
        if (!allows(algorithm.optimizers, kind)) continue;
        optim::Options training = walk_training(algorithm);
        training.local_optimizer = kind;
        training.learning_rate = optim::is_linear(kind) ? 0.05 : 0.02;
        training.codec = optim::wire_form_named(codec);
        expect_to_end(usual_way(algorithm, fmt::format("{} {}", optim::name(kind), codec)),
                      training, optim::is_linear(kind) ? 1e-4 : .05);
      }
}

TEST_CASE("Every legal way of averaging ends in the optimum by every rule of averaging") {
  for (const char* codec : all_or_first<const char*>(1, {"f64", "i4"}))
    for (const optim::MixRule& rule : optim::mix_rules())
      for (const LegalWay& way : legal_ways()) {
        optim::Options training = walk_training(*way.algorithm);
        training.codec = optim::wire_form_named(codec);
        training.aggregation.rule = &rule;
        if (rule.is_plain || !allows(way, rule) || !allows(way, training.codec)) continue;
        if (rule.is_trimmed && training.codec.remembers()) continue;
        LegalWay named = way;
        named.name += fmt::format(" {} {}", rule.name, codec);
        expect_to_end(named, training, 1e-6);
      }
}
