// A walk over the lies that a member can tell, beside the rules of averaging.
#include "sim/lies.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/liar.h"
#include "sim/simulation.h"
#include "tests/lengths.h"
#include "tests/sim/cluster.h"

using namespace starling;
using namespace starling::test;

namespace {

constexpr std::size_t kNodes = 9, kLiar = kNodes - 1;
constexpr ReferenceShape kOneOptimum{.n = kNodes, .d = 20, .m = 40, .h = 0, .noise = 0};

struct Outcome {
  double error = 0;       // of the worst honest node, over the length of the optimum
  bool is_named = false;  // the liar, in the warnings of all honest nodes
  std::vector<std::string> broken;
};

Outcome after_lies(const sim::Lie& lie, const optim::MixRule& rule, std::string_view algorithm) {
  optim::Options training = reference_training(0.1);
  training.algorithm = optim::algorithm_named(algorithm);
  training.aggregation.rule = &rule;
  sim::Options options = reference_world(kNodes, topology::Kind::complete, training);
  options.base.expect = kNodes;
  Cluster cluster(options, reference_trainers(training, kOneOptimum));
  sim::Liar liar(cluster.world, kLiar, lie);
  cluster.start_all();
  Outcome outcome;
  std::set<std::size_t> naming;
  for (int second = 1; second <= 20; ++second) {
    cluster.world.run_until(Time(std::chrono::seconds(second)));
    for (std::size_t node = 0; node < kLiar; ++node)
      for (const std::string& warning : cluster.world.status(node).warnings)
        if (warning.starts_with("vectors of node-8 are not averaged")) naming.insert(node);
  }
  outcome.is_named = naming.size() == kLiar;
  std::vector<std::size_t> all(kNodes);
  for (std::size_t node = 0; node < kNodes; ++node) all[node] = node;
  const std::vector<double> optimum = reference_optimum(kOneOptimum, all);
  const double length = sim::distance(optimum, std::vector<double>(optimum.size()));
  for (std::size_t node = 0; node < kLiar; ++node)
    outcome.error = std::max(
        outcome.error, sim::distance(cluster.world.trainer(node).parameters(), optimum) / length);
  for (const sim::Violation& violation : cluster.checker.violations())
    if (violation.node != kLiar) outcome.broken.push_back(sim::to_text(violation, 1));
  return outcome;
}

// Told from the truth by a single look at the vector.
bool is_plain_lie(const sim::Lie& lie) {
  constexpr std::string_view kPlain[] = {"nan", "inf", "minus-inf", "1e30", "1e6", "half"};
  return std::ranges::find(kPlain, lie.name) != std::end(kPlain);
}

}  // namespace

TEST_CASE("Every lie does no harm where it is clipped or trimmed") {
  for (const sim::Lie& lie : sim::lies())
    for (const optim::MixRule& rule : optim::mix_rules()) {
      if (!lie.vector || rule.is_plain) continue;
      const Outcome outcome = after_lies(lie, rule, "dpsgd");
      CAPTURE(lie.name);
      CAPTURE(rule.name);
      CHECK(outcome.error < 0.01);
      for (const std::string& broken : outcome.broken) FAIL_CHECK(broken);
    }
}

TEST_CASE("Every rule refuses what no honest node can send and names the sender") {
  for (const sim::Lie& lie : sim::lies())
    for (const optim::MixRule& rule : optim::mix_rules()) {
      if (!is_plain_lie(lie)) continue;
      const Outcome outcome = after_lies(lie, rule, "dpsgd");
      CAPTURE(lie.name);
      CAPTURE(rule.name);
      if (!rule.is_trimmed || !lie.name.starts_with("1e")) CHECK(outcome.is_named);
      CHECK(outcome.error < 0.01);
    }
}

// Lies that are averaged, if shortened, add up in what exact algorithms remember of their edges.
TEST_CASE("Exact algorithms end in the optimum beside lies that are refused") {
  for (const std::string_view algorithm : {"ed", "gt"})
    for (const sim::Lie& lie : sim::lies()) {
      if (!is_plain_lie(lie)) continue;
      CAPTURE(algorithm);
      CAPTURE(lie.name);
      CHECK(after_lies(lie, *optim::mix_rule_named("clip"), algorithm).error < 1e-9);
    }
}
