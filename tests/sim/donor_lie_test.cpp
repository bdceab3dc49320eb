// A member that gives newcomers a false model.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "optim/saved_state.h"
#include "sim/simulation.h"
#include "tests/sim/cluster.h"

using namespace starling;
using namespace starling::test;

namespace {

constexpr std::size_t kFounders = 4, kNodes = 6, kLiar = 0;
constexpr ReferenceShape kOneOptimum{.n = kNodes, .d = 20, .m = 40, .h = 0, .noise = 0};

// The model with every number changed.
Payload changed(const Payload& payload, double (*change)(double)) {
  optim::SavedState saved = *optim::decode_saved_state(payload);
  for (optim::SavedField& field : saved.parameters) {
    std::vector<double> numbers(field.bytes.size() / sizeof(double));
    field.bytes.copy_to(0, std::as_writable_bytes(std::span(numbers)));
    for (double& number : numbers) number = change(number);
    field.bytes = Payload::copy_of(std::as_bytes(std::span(numbers)));
  }
  return optim::encode(saved);
}

struct Outcome {
  // Error of the worst honest founder, over the optimum's length: when the newcomers start, at most
  // and at last since then.
  double before = 0, most = 0, last = 0;
  double newcomer = 0;
  bool was_told = false;
};

Outcome after_lie(double (*change)(double), std::string_view rule, std::string_view algorithm,
                  std::uint64_t seed) {
  optim::Options training = reference_training(0.1);
  training.algorithm = optim::algorithm_named(algorithm);
  training.aggregation.rule = optim::mix_rule_named(rule);
  sim::Options options = reference_world(kNodes, topology::Kind::complete, training);
  options.base.expect = kFounders;
  options.seed = options.base.seed = seed;
  Cluster cluster(options, reference_trainers(training, kOneOptimum));
  Outcome outcome;
  cluster.world.drivers().intercept([&](sim::Parcel& parcel) {
    if (!std::holds_alternative<gossip::Snapshot>(parcel.message.body)) return;
    if (parcel.hop.from != kLiar || parcel.message.payload.empty()) return;
    parcel.message.payload = changed(parcel.message.payload, change);
    outcome.was_told = true;
  });
  for (std::size_t node = 0; node < kFounders; ++node) cluster.world.start(node);
  cluster.world.run_until(Time(3s));
  for (std::size_t node = kFounders; node < kNodes; ++node) cluster.world.start(node);
  std::vector<std::size_t> all(kNodes);
  for (std::size_t node = 0; node < kNodes; ++node) all[node] = node;
  const std::vector<double> optimum = reference_optimum(kOneOptimum, all);
  const double length = sim::distance(optimum, std::vector<double>(optimum.size()));
  const auto error = [&](std::size_t node) {
    return sim::distance(cluster.world.trainer(node).parameters(), optimum) / length;
  };
  const auto worst = [&] {
    double most = 0;
    for (std::size_t node = 1; node < kFounders; ++node) most = std::max(most, error(node));
    return most;
  };
  outcome.before = worst();
  for (int tick = 0; tick < 200; ++tick) {
    cluster.world.run_until(Time(3s) + (tick + 1) * 50ms);
    outcome.last = worst();
    outcome.most = std::max(outcome.most, outcome.last);
    if (tick == 20 && !outcome.was_told) return outcome;
  }
  for (std::size_t node = kFounders; node < kNodes; ++node)
    outcome.newcomer = std::max(outcome.newcomer, error(node));
  return outcome;
}

struct Lie {
  std::string_view name;
  double (*change)(double);
};
constexpr Lie kLies[] = {{"1e6", [](double) { return 1e6; }},
                         {"1e30", [](double) { return 1e30; }},
                         {"-50x", [](double x) { return -50 * x; }}};
constexpr Lie kShortLies[] = {{"-9x", [](double x) { return -9 * x; }},
                              {"zero", [](double) { return 0.0; }}};

}  // namespace

TEST_CASE("A false model of one member reaches no newcomer") {
  for (const char* algorithm : {"dpsgd", "ed", "gt"})
    for (const Lie& lie : kLies) {
      CAPTURE(algorithm);
      CAPTURE(lie.name);
      bool was_told = false;
      for (std::uint64_t seed = 1; seed <= 40 && !was_told; ++seed) {
        const Outcome outcome = after_lie(lie.change, "mean", algorithm, seed);
        was_told = outcome.was_told;
        if (!was_told) continue;
        CAPTURE(seed);
        CHECK(outcome.most <= 1.1 * outcome.before);
        CHECK(outcome.last < 1e-6);
        CHECK(outcome.newcomer < 1e-6);
      }
      CHECK(was_told);
    }
}

// Not ten times as long as others' models: averaged away with what is learned.
TEST_CASE("A false model that is not long is forgotten by an algorithm that averages plainly") {
  for (const Lie& lie : kShortLies) {
    CAPTURE(lie.name);
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      const Outcome outcome = after_lie(lie.change, "mean", "dpsgd", seed);
      if (!outcome.was_told) continue;
      CHECK(outcome.most < 3);
      CHECK(outcome.last < 1e-6);
      break;
    }
  }
}
