// A walk over the lies that a member can tell, beside the rules of averaging.
#include "sim/lies.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <deque>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "optim/local/local_learner.h"
#include "sim/liar.h"
#include "sim/simulation.h"
#include "tests/lengths.h"
#include "tests/sim/cluster.h"
#include "tests/sim/legal_ways.h"

using namespace starling;
using namespace starling::test;

namespace {

constexpr std::size_t kNodes = 9;

// Who lies how, among whom.
struct Trial {
  const sim::Lie* lie = nullptr;
  const optim::MixRule* rule = optim::mix_rule_named("clip");
  LegalWay way = {"dpsgd", optim::algorithm_named("dpsgd")};
  std::string codec = "f64";
  std::size_t nodes = kNodes, liars = 1;  // the last ones
  topology::Options topology = {.kind = topology::Kind::complete};
  int seconds = 20;
};

struct Outcome {
  double error = 0;       // of the worst honest node, over the length of the optimum
  bool is_named = false;  // the last liar, in the warnings of all its honest neighbours
  std::vector<std::string> broken;
};

// Learns, and gives the algorithm a false vector in place of what it has learned: so a member lies
// that keeps all rules of the codec.
class LyingLearner final : public optim::Learner<double> {
 public:
  LyingLearner(std::unique_ptr<optim::LocalLearner<double>> honest, const sim::Lie& lie)
      : honest_(std::move(honest)), lie_(&lie) {}

  std::span<const optim::ParameterBlock> blocks() const override { return honest_->blocks(); }
  void initialize(std::span<double> x, std::uint64_t seed) const override {
    honest_->initialize(x, seed);
  }
  optim::Report advance(std::span<const double> x, const optim::LocalSteps<double>& steps,
                        const optim::Moves<double>& to) override {
    const std::vector<double> before(x.begin(), x.end()), none(x.size());
    if (mean_.size() != x.size()) mean_ = first_ = before;
    const auto told = lie_->vector({.own = before,
                                    .to = before,
                                    .mean = before,
                                    .mean_before = mean_,
                                    .deviation = none,
                                    .split = none,
                                    .first = first_,
                                    .sent = sent_++});
    mean_ = before;
    optim::Report report = honest_->advance(x, steps, to);
    if (told.size() != x.size()) return report;
    if (!to.end.empty()) std::ranges::copy(told, to.end.begin());
    for (std::size_t k = 0; k < to.sum.size(); ++k) to.sum[k] = told[k] - before[k];
    return report;
  }
  optim::Evaluation evaluate(std::span<const double> x, std::size_t limit) override {
    return honest_->evaluate(x, limit);
  }

 private:
  std::unique_ptr<optim::LocalLearner<double>> honest_;
  const sim::Lie* lie_;
  std::vector<double> mean_, first_;
  std::size_t sent_ = 0;
};

ReferenceShape one_optimum(const Trial& trial) {
  return {.n = trial.nodes, .d = 20, .m = 40, .h = 0, .noise = 0};
}

optim::Options training_of(const Trial& trial) {
  optim::Options training = training_by(trial.way, reference_training(0.1));
  training.aggregation = {.rule = trial.rule, .liars = trial.liars};
  training.codec = optim::wire_form_named(trial.codec);
  return training;
}

// Those who lie in their learning, because the simulator cannot read their vectors.
sim::TrainerFactory trainers_of(const Trial& trial, bool lies_in_learning) {
  const optim::Options training = training_of(trial);
  const auto honest = reference_trainers(training, one_optimum(trial));
  return [=](std::size_t index) {
    if (!lies_in_learning || index + trial.liars < trial.nodes) return honest(index);
    auto learner = std::make_unique<optim::LocalLearner<double>>(
        training, reference_objective(one_optimum(trial), index), index);
    optim::LocalData& data = *learner;
    return optim::make_trainer<double>(
        training, std::make_unique<LyingLearner>(std::move(learner), *trial.lie), data,
        [] { return Time{}; });
  };
}

// The nodes whose warnings name that one.
std::set<std::size_t> naming(const Cluster& cluster, std::size_t honest, const std::string& name) {
  std::set<std::size_t> found;
  for (std::size_t node = 0; node < honest; ++node)
    for (const std::string& warning : cluster.world.status(node).warnings)
      if (warning.starts_with("vectors of " + name + " are not averaged")) found.insert(node);
  return found;
}

Outcome after_lies(const Trial& trial) {
  const optim::Options training = training_of(trial);
  sim::Options options = reference_world(trial.nodes, trial.topology.kind, training);
  options.base.topology = trial.topology;
  options.base.schedule = trial.way.schedule;
  options.base.topology.sequence = trial.way.sequence;
  if (trial.way.kind != topology::Kind::automatic) options.base.topology.kind = trial.way.kind;
  options.base.quorum = trial.way.quorum;
  options.base.missing = trial.way.missing;
  options.base.expect = trial.nodes;
  const std::size_t honest = trial.nodes - trial.liars;
  Cluster cluster(options, trainers_of(trial, options.format == nullptr));
  std::deque<sim::Liar> liars;
  for (std::size_t node = honest; options.format && node < trial.nodes; ++node)
    liars.emplace_back(cluster.world, node, *trial.lie);
  cluster.start_all();
  Outcome outcome;
  std::set<std::size_t> all_naming;
  for (int second = 1; second <= trial.seconds; ++second) {
    cluster.world.run_until(Time(std::chrono::seconds(second)));
    all_naming.merge(naming(cluster, honest, fmt::format("node-{}", trial.nodes - 1)));
  }
  outcome.is_named = all_naming.size() == honest;
  std::vector<std::size_t> all(trial.nodes);
  for (std::size_t node = 0; node < trial.nodes; ++node) all[node] = node;
  const std::vector<double> optimum = reference_optimum(one_optimum(trial), all);
  const double length = sim::distance(optimum, std::vector<double>(optimum.size()));
  for (std::size_t node = 0; node < honest; ++node)
    outcome.error = std::max(
        outcome.error, sim::distance(cluster.world.trainer(node).parameters(), optimum) / length);
  for (const sim::Violation& violation : cluster.checker.violations())
    if (violation.node < honest) outcome.broken.push_back(sim::to_text(violation, 1));
  return outcome;
}

// Told from the truth by a single look at the vector.
bool is_plain_lie(const sim::Lie& lie) {
  constexpr std::string_view kPlain[] = {"nan", "inf", "minus-inf", "1e30", "1e6", "half"};
  return std::ranges::find(kPlain, lie.name) != std::end(kPlain);
}

}  // namespace

// The short form tries each lie with one of the rules.
TEST_CASE("Every lie does no harm where it is clipped or trimmed") {
  std::size_t place = 0;
  for (const sim::Lie& lie : sim::lies()) {
    ++place;
    for (const optim::MixRule& rule : optim::mix_rules()) {
      if (!lie.vector || rule.is_plain) continue;
      if (!tries_full() && rule.is_trimmed != (place % 2 == 0)) continue;
      // A round that is not believed is found out later.
      const int seconds = lie.rounds_ahead > 0 ? 20 : full_or(20, 6);
      const Outcome outcome = after_lies({.lie = &lie, .rule = &rule, .seconds = seconds});
      CAPTURE(lie.name);
      CAPTURE(rule.name);
      CHECK(outcome.error < 0.01);
      for (const std::string& broken : outcome.broken) FAIL_CHECK(broken);
    }
  }
}

TEST_CASE("Every rule refuses what no honest node can send and names the sender") {
  for (const sim::Lie& lie : sim::lies())
    for (const optim::MixRule& rule : optim::mix_rules()) {
      if (!is_plain_lie(lie)) continue;
      const Outcome outcome = after_lies({.lie = &lie, .rule = &rule, .seconds = full_or(20, 6)});
      CAPTURE(lie.name);
      CAPTURE(rule.name);
      if (!rule.is_trimmed || !lie.name.starts_with("1e")) CHECK(outcome.is_named);
      CHECK(outcome.error < 0.01);
    }
}

// Of those that are open, at the honest nodes.
std::size_t open_edges_to_last(const Cluster& cluster) {
  const std::string name = fmt::format("node-{}", kNodes - 1);
  std::size_t open = 0;
  for (std::size_t node = 0; node + 1 < kNodes; ++node)
    for (const gossip::EdgeStatus& edge : cluster.world.status(node).edges)
      open += edge.name == name && edge.state == gossip::EdgeState::active;
  return open;
}

// The pauses are 8 s and then 16 s.
TEST_CASE("A member whose vectors are always refused loses its edges until it is honest again") {
  Cluster cluster = reference_cluster(kNodes, kNodes, {}, topology::Kind::complete);
  std::size_t vectors = 0;
  bool is_broken = true;
  cluster.world.drivers().intercept([&](sim::Parcel& parcel) {
    Payload& vector = parcel.message.payload;
    if (parcel.hop.from + 1 != kNodes || vector.empty()) return;
    if (!std::holds_alternative<gossip::Round>(parcel.message.body)) return;
    ++vectors;
    if (is_broken) vector = Payload::copy_of(std::vector(vector.size(), std::byte{0xff}));
  });
  cluster.start_all();
  CHECK(cluster.comes_true([&] { return open_edges_to_last(cluster) == kNodes - 1; }, 2s));
  CHECK(cluster.comes_true([&] { return open_edges_to_last(cluster) == 0; }, 5s));
  vectors = 0;
  cluster.world.run_until(Time(20s));
  CHECK(vectors <= 4 * (kNodes - 1));
  // Alone it is faster than the others, and they do not follow it.
  const gossip::RunStatus run = cluster.world.status(0).run;
  CHECK(run.steps + 8 > run.round);
  is_broken = false;
  CHECK(cluster.comes_true([&] { return open_edges_to_last(cluster) == kNodes - 1; }, 8s));
  cluster.world.run_until(Time(40s));
  CHECK(open_edges_to_last(cluster) == kNodes - 1);
  for (const sim::Violation& violation : cluster.checker.violations())
    FAIL_CHECK(sim::to_text(violation, 1));
}

// A neighbour of the liar has one other edge, and nothing to compare it with. A node that averages
// with none ends in the optimum of its own data.
TEST_CASE("On a ring the neighbours of a member that sends nothing sound go on with the others") {
  const ReferenceShape shape = {.n = kNodes, .d = 20, .m = 40, .h = 1, .noise = 0};
  optim::Options training = reference_training(0.1);
  training.aggregation = {.rule = optim::mix_rule_named("clip")};
  std::size_t place = 0;
  for (const sim::Lie& lie : sim::lies()) {
    if (!is_plain_lie(lie) && lie.rounds_ahead == 0) continue;
    if (place++ % 2 > 0 && !tries_full()) continue;  // in the short form every other lie
    CAPTURE(lie.name);
    sim::Options options = reference_world(kNodes, topology::Kind::ring, training);
    options.base.expect = kNodes;
    Cluster cluster(options, reference_trainers(training, shape));
    const sim::Liar liar(cluster.world, kNodes - 1, lie);
    cluster.start_all();
    cluster.world.run_until(Time(20s));
    for (const std::size_t neighbor : {std::size_t{0}, kNodes - 2}) {
      const std::vector<double> own = reference_optimum(shape, {neighbor});
      const std::vector<double> next = reference_optimum(shape, {neighbor == 0 ? 1 : neighbor - 1});
      const std::vector<double> model = cluster.world.trainer(neighbor).parameters();
      CHECK(sim::distance(model, own) > 0.2 * sim::distance(next, own));
    }
  }
}

// Lies that are averaged, if shortened, add up in what exact algorithms remember of their edges.
// In the short form each lie with one of them.
TEST_CASE("Exact algorithms end in the optimum beside lies that are refused") {
  std::size_t place = 0;
  for (const std::string_view algorithm : {"ed", "gt"})
    for (const sim::Lie& lie : sim::lies()) {
      if (!is_plain_lie(lie)) continue;
      if (!tries_full() && (place++ % 2 > 0) == (algorithm == "ed")) continue;
      CAPTURE(algorithm);
      CAPTURE(lie.name);
      CHECK(after_lies({.lie = &lie, .way = {"", optim::algorithm_named(algorithm)}}).error < 1e-9);
    }
}

// Two that no single look at the vector tells from the truth, and that destroy the model under mean
// (docs/algorithms.md): alike to all neighbours, and to each another vector.
std::vector<std::string_view> worst_lies() {
  return {"reverse", "dissensus"};
}

// Where a round is not believed, vectors to its sender are not acknowledged, and are sent again.
TEST_CASE("Two liars do no harm on a random graph where two are expected") {
  std::size_t place = 0;
  for (const sim::Lie& lie : sim::lies()) {
    if (!lie.vector) continue;
    if (place++ % 2 > 0 && !tries_full()) continue;  // in the short form every other lie
    CAPTURE(lie.name);
    const bool is_believed = lie.rounds_ahead == 0;
    const Outcome outcome = after_lies({.lie = &lie,
                                        .nodes = 16,
                                        .liars = 2,
                                        .topology = {.kind = topology::Kind::random, .degree = 6},
                                        .seconds = is_believed ? 6 : 20});
    CHECK(outcome.error < 0.01);
    for (const std::string& broken : outcome.broken)
      if (is_believed || broken.find("vectors are sent once") == std::string::npos)
        FAIL_CHECK(broken);
  }
}

// In the short form every third way.
TEST_CASE("A liar does no harm in any way of averaging that is not exact") {
  std::size_t place = 0;
  for (const LegalWay& way : legal_ways()) {
    if (way.algorithm->is_exact || !allows(way, *optim::mix_rule_named("clip"))) continue;
    if (place++ % 3 > 0 && !tries_full()) continue;
    for (const std::string_view lie : all_or_first(1, worst_lies())) {
      CAPTURE(way.name);
      CAPTURE(lie);
      // Where nodes rest, each takes fewer steps in that time.
      const bool rests = way.sequence.moves() && way.sequence.row->rests;
      const Outcome outcome =
          after_lies({.lie = sim::lie_named(lie), .way = way, .seconds = rests ? 12 : 6});
      CHECK(outcome.error < 0.01);
      for (const std::string& broken : outcome.broken) FAIL_CHECK(broken);
    }
  }
}

// The ledger counts what the liar sends again, because its codec cannot write some lies.
TEST_CASE("A liar does no harm with any codec of an algorithm that is not exact") {
  const LegalWay dpsgd = Trial().way;
  for (const std::string& codec : optim::wire_form_names()) {
    if (!allows(dpsgd, optim::wire_form_named(codec))) continue;
    for (const std::string_view lie : all_or_first(1, worst_lies())) {
      CAPTURE(codec);
      CAPTURE(lie);
      const Trial trial = {.lie = sim::lie_named(lie), .codec = codec, .seconds = 6};
      CHECK(after_lies(trial).error < 0.01);
    }
  }
}
