// How a run ends, over the registries: whatever nodes may choose, all end after their goal with the
// same model, on a network that loses messages and beside a slow node, and no node takes a step
// after it may end.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "optim/codec/format.h"
#include "tests/lengths.h"
#include "tests/sim/cluster.h"
#include "tests/sim/legal_ways.h"

using namespace starling;
using namespace starling::test;

namespace {

constexpr std::size_t kNodes = 5;
constexpr ReferenceShape kOneOptimum{.n = kNodes, .d = 4, .h = 0, .noise = 0};
constexpr std::uint64_t kRounds = 40;

class Ending : public Cluster {
 public:
  Ending(const sim::Options& options, const optim::Options& training)
      : Cluster(options, reference_trainers(training, kOneOptimum)) {
    world.observe([this](std::size_t node, const gossip::Output& output) {
      if (std::holds_alternative<gossip::MayEnd>(output)) ended.insert(node);
      const auto* train = std::get_if<gossip::Train>(&output);
      if (train && train->job.local && ended.contains(node)) ++late_steps;
    });
    start_all();
  }

  // Where half of the messages are lost, one slow node may come after the others' patience.
  void expect_one_end(Duration limit) {
    const std::size_t least = world.options().network.loss < .5 ? kNodes : kNodes - 1;
    CHECK(comes_true([this] { return ended.size() == world.running().size(); }, limit));
    world.run_until(world.now() + 5s);
    std::set<std::uint64_t> models, counts;
    for (const std::size_t node : world.running()) {
      const gossip::EndStatus end = world.status(node).run.end;
      models.insert(end.model);
      counts.insert(end.models);
      CHECK(!end.reason.empty());
    }
    CAPTURE(fmt::format("{:x}", fmt::join(models, " ")));
    CAPTURE(fmt::format("{}", fmt::join(counts, " ")));
    CHECK(models.size() == 1);
    CHECK(!models.contains(0));
    CHECK(counts.size() == 1);
    CHECK(*counts.begin() >= least);
    CHECK(*counts.rbegin() <= kNodes);
    CHECK(late_steps == 0);
    for (const sim::Violation& violation : checker.violations())
      FAIL_CHECK(sim::to_text(violation, world.options().seed));
  }

  std::set<std::size_t> ended;
  std::size_t late_steps = 0;
};

void expect_one_end(const LegalWay& way, const optim::Options& given, double loss) {
  const optim::Options training = training_by(way, given);
  CAPTURE(way.name);
  CAPTURE(loss);
  sim::Options options = world_by(way, training, kNodes, loss);
  options.base.goal.rounds = kRounds;
  Ending(options, training).expect_one_end(300s);
}

}  // namespace

TEST_CASE("Every legal way of averaging ends with one model of all nodes") {
  for (const double loss : all_or_first<double>(1, {.3, 0, .5}))
    for (const LegalWay& way : legal_ways())
      expect_one_end(way, walk_training(*way.algorithm), loss);
}

TEST_CASE("Every codec that remembers ends with one model of all nodes") {
  for (const std::string& codec : all_or_first(2, compressed_forms()))
    for (const LegalWay& way : legal_ways()) {
      optim::Options training = walk_training(*way.algorithm);
      training.codec = optim::wire_form_named(codec);
      if (!allows(way, training.codec)) continue;
      LegalWay named = way;
      named.name += " " + codec;
      expect_one_end(named, training, .3);
    }
}

TEST_CASE("Every rule of averaging ends with one model of all nodes") {
  for (const optim::MixRule& rule : optim::mix_rules())
    for (const LegalWay& way : legal_ways()) {
      optim::Options training = walk_training(*way.algorithm);
      training.aggregation.rule = &rule;
      if (rule.is_plain || !allows(way, rule)) continue;
      LegalWay named = way;
      named.name += fmt::format(" {}", rule.name);
      expect_one_end(named, training, .3);
    }
}
