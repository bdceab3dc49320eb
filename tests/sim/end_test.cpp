// How a run ends, over the registries: whatever nodes may choose, all end after their goal with the
// same model, on a network that loses messages and beside a slow node, and no node takes a step
// after it may end.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "gossip/node/tally_tree.h"
#include "optim/codec/format.h"
#include "optim/local/local_learner.h"
#include "sim/liar.h"
#include "sim/simulation.h"
#include "tests/lengths.h"
#include "tests/sim/cluster.h"
#include "tests/sim/legal_ways.h"
#include "tests/sim/lockstep.h"

using namespace starling;
using namespace starling::test;

namespace {

constexpr std::size_t kNodes = 5;
constexpr ReferenceShape kOneOptimum{.n = kNodes, .d = 4, .h = 0, .noise = 0};
constexpr std::uint64_t kRounds = 40;

// Each step moves x on by the learning rate, past 2, where the held-out loss of the fleet is least.
class Passing final : public optim::Objective<double> {
 public:
  explicit Passing(std::size_t node) : target_(static_cast<double>(node)) {}

  void assign(const optim::Shard&) override {}
  optim::DataSummary describe() const override {
    return {.samples = 1, .shard = "a point", .schema = "passing"};
  }
  std::span<const optim::ParameterBlock> blocks() const override { return blocks_; }
  std::size_t samples() const override { return 1; }
  void initialize(std::span<double> x, std::uint64_t) const override { x[0] = 0; }
  double loss_and_gradient(std::span<const double> x, std::span<const std::uint32_t>,
                           std::span<double> gradient) override {
    gradient[0] = -1;
    return 10 - x[0];
  }
  optim::Evaluation evaluate(std::span<const double> x, std::size_t) override {
    return {.loss = (x[0] - target_) * (x[0] - target_)};
  }

 private:
  double target_;
  std::vector<optim::ParameterBlock> blocks_ = optim::one_block(1);
};

// The reference problem until its gradient is taken for 0.
class Stilled final : public optim::Objective<double> {
 public:
  Stilled(std::size_t node, const bool& is_still, const std::vector<double>& start)
      : moving_(reference_objective({}, node)), is_still_(is_still), start_(start) {}

  void assign(const optim::Shard& shard) override { moving_->assign(shard); }
  optim::DataSummary describe() const override { return moving_->describe(); }
  std::span<const optim::ParameterBlock> blocks() const override { return moving_->blocks(); }
  std::size_t samples() const override { return moving_->samples(); }
  void initialize(std::span<double> x, std::uint64_t) const override {
    std::ranges::copy(start_, x.begin());
  }
  double loss_and_gradient(std::span<const double> x, std::span<const std::uint32_t> batch,
                           std::span<double> gradient) override {
    const double loss = moving_->loss_and_gradient(x, batch, gradient);
    if (is_still_) std::ranges::fill(gradient, 0.0);
    return loss;
  }
  optim::Evaluation evaluate(std::span<const double> x, std::size_t limit) override {
    return moving_->evaluate(x, limit);
  }

 private:
  std::unique_ptr<optim::Objective<double>> moving_;
  const bool& is_still_;
  std::vector<double> start_;
};

sim::TrainerFactory stilled(const optim::Options& training, const bool& is_still,
                            const std::vector<std::vector<double>>& start) {
  return [=, &is_still](std::size_t node) {
    const std::vector<double> from = start.empty() ? std::vector<double>(10) : start[node];
    return optim::make_trainer<double>(training, std::make_unique<Stilled>(node, is_still, from),
                                       node, [] { return Time{}; });
  };
}

class Ending : public Cluster {
 public:
  Ending(const sim::Options& options, const sim::TrainerFactory& trainers)
      : Cluster(options, trainers) {
    world.observe([this](std::size_t node, const gossip::Output& output) {
      if (std::holds_alternative<gossip::MayEnd>(output)) ended.insert(node);
      const auto* train = std::get_if<gossip::Train>(&output);
      if (train && train->job.local && ended.contains(node)) ++late_steps;
      if (train && train->job.evaluate && refitted.contains(node)) ++late_evaluations;
      if (train && train->job.shard && train->job.shard->has_held_out) refitted.insert(node);
    });
    start_all();
  }

  // Where half of the messages are lost, a node may end so early that its patience is over before
  // the others have ended. In `ssp`, which lets a node run ahead, one seed of seven ends with the
  // model of one or two nodes; the other schedules have had three of five in all seeds.
  void expect_one_end(Duration limit) {
    const gossip::ScheduleRow* const schedule = world.options().base.schedule;
    const std::size_t few = schedule == gossip::schedule_named("ssp") ? 1 : kNodes - 2;
    const std::size_t least = world.options().network.loss < .5 ? kNodes : few;
    CHECK(comes_true([this] { return ended.size() == world.running().size(); }, limit));
    world.run_until(world.now() + 5s);
    std::set<std::uint64_t> models, counts;
    for (const std::size_t node : world.running()) {
      const gossip::EndStatus end = world.status(node).run.end;
      models.insert(end.model.hash);
      counts.insert(end.model.nodes);
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
    expect_sound();
  }
  void expect_sound() {
    for (const sim::Violation& violation : checker.violations())
      FAIL_CHECK(sim::to_text(violation, world.options().seed));
  }

  std::set<std::size_t> ended, refitted;
  std::size_t late_steps = 0, late_evaluations = 0;
};

void expect_one_end(const LegalWay& way, const optim::Options& given, double loss) {
  const optim::Options training = training_by(way, given);
  CAPTURE(way.name);
  CAPTURE(loss);
  sim::Options options = world_by(way, training, kNodes, loss);
  options.base.goal.rounds = kRounds;
  Ending(options, reference_trainers(training, kOneOptimum)).expect_one_end(300s);
}

}  // namespace

TEST_CASE("Every legal way of averaging ends with one model of all nodes") {
  for (const double loss : all_or_first<double>(1, {.3, 0, .5}))
    for (const LegalWay& way : legal_ways())
      expect_one_end(way, walk_training(*way.algorithm), loss);
}

// Nodes with optima of their own, and time enough. Each way is tried at one of the losses, by
// seconds or by rounds; the short form tries some.
TEST_CASE("Every exact way ends at the optimum of all by seconds as by rounds") {
  struct Loss {
    double share, seconds;
  };
  constexpr Loss kLosses[] = {{.3, 700}, {0, 90}, {.5, 4000}};
  constexpr ReferenceShape kShape{.n = kNodes, .d = 4};
  std::size_t place = 0;
  for (const LegalWay& way : legal_ways()) {
    // Sums are tried in tests/sim/one_way_test.cpp; they have no part in the order of losses.
    if (!way.algorithm->is_exact || way.algorithm->needs.sums) continue;
    if (place++ % 8 > 0 && !tries_full()) continue;
    // With `admm` in `async` one run of eight under loss ends beside the optimum.
    const bool is_lossless = way.name == "admm async";
    // With `ed` over clusters of one and two nodes at a loss of .5, an edge whose ends count
    // differently may close before the last step: the end is then .0035 beside the optimum. Kept
    // open, such edges let other ways end with the model of two nodes there.
    const std::size_t most = way.name == "ed clusters:2" ? 1 : full_or(3, 2);
    const Loss& loss = kLosses[is_lossless ? 1 : place % most];
    // Where nodes rest, each takes a step in two of five rounds.
    const int longer = way.sequence.moves() && way.sequence.row->rests ? 3 : 1;
    CAPTURE(way.name);
    CAPTURE(loss.share);
    const optim::Options training = training_by(way, walk_training(*way.algorithm));
    sim::Options options = world_by(way, training, kNodes, loss.share);
    if (place % 2 > 0)
      options.base.goal.seconds = longer * loss.seconds;
    else
      options.base.goal.rounds = static_cast<std::uint64_t>(longer) * 1500;
    Ending run(options, reference_trainers(training, kShape));
    run.expect_one_end(longer * 2h);
    const optim::Trainer& trainer = run.world.trainer(0);
    CHECK(sim::distance(trainer.parameters(), trainer.optimum()) < 1e-8);
  }
}

TEST_CASE("Every codec that remembers ends with one model of all nodes") {
  for (const std::string& codec : all_or_first(2, compressed_forms()))
    for (const auto& [way, training] : ways_with(codec)) expect_one_end(way, training, .3);
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

TEST_CASE("A run that keeps its best ends with the models of the fleet's least held-out loss") {
  std::set<std::string_view> seen;
  for (const LegalWay& way : legal_ways()) {
    if (way.algorithm->is_exact || !seen.insert(way.schedule->name).second) continue;
    CAPTURE(way.name);
    const optim::Options training = training_by(way, reference_training(0.1));
    sim::Options options = world_by(way, training, kNodes, 0);
    options.straggler = 1;
    options.compute = 300ms;
    options.base.goal = {.rounds = 3 * kRounds, .patience = 5, .keep = gossip::GoalKeep::best};
    options.base.evaluation.every = 4;
    Ending run(options, [&](std::size_t node) {
      return optim::make_trainer<double>(training, std::make_unique<Passing>(node), node,
                                         [] { return Time{}; });
    });
    run.expect_one_end(300s);
    const gossip::EndStatus end = run.world.status(0).run.end;
    CHECK(run.round(0) < 3 * kRounds);
    CHECK(end.model.round > 0);
    CHECK(run.world.trainer(0).parameters()[0] == doctest::Approx(2).epsilon(.25));
  }
}

TEST_CASE("A refit goes on over all rows for half as many rounds and ends with one model") {
  for (const Rhythm& rhythm : rhythms()) {
    if (!rhythm.schedule->goes_in_step()) continue;
    for (const double loss : {0., .3}) {
      const std::vector<LegalWay> ways = legal_ways();
      LegalWay way = *std::ranges::find(ways, rhythm.schedule, &LegalWay::schedule);
      way.name = rhythm.name;
      way.sequence = rhythm.sequence;
      if (rhythm.sequence.moves()) way.kind = rhythm.kind;
      CAPTURE(way.name);
      CAPTURE(loss);
      const optim::Options training = training_by(way, walk_training(*way.algorithm));
      sim::Options options = world_by(way, training, kNodes, loss);
      options.base.goal.rounds = kRounds;
      options.base.refits = true;
      Ending run(options, reference_trainers(training, kOneOptimum));
      run.expect_one_end(300s);
      CHECK(run.refitted.size() == kNodes);
      CHECK(run.late_evaluations == 0);
      for (const std::size_t node : run.world.running()) {
        const gossip::EndStatus end = run.world.status(node).run.end;
        CHECK(end.round == kRounds + kRounds / 2 + 1);
        CHECK(end.reason.ends_with(", and 21 more over all rows (data.refit)"));
        if (loss == 0) CHECK(run.round(node) == *end.round);
      }
    }
  }
}

// The table of docs/algorithms.md, "The end".
TEST_CASE("At the optimum plain averaging stays and an algorithm without its steps leaves") {
  struct Row {
    topology::Kind kind;
    double after_10, after_100;
  };
  using enum topology::Kind;
  for (const auto& [kind, after_10, after_100] :
       {Row{path, .13, .11}, Row{ring, .11, 9.4e-3}, Row{grid, 2.6e-2, 1.5e-3}}) {
    CAPTURE(topology::to_string(kind));
    optim::Options training = reference_training(.05);
    training.algorithm = optim::algorithm_named("ed");
    bool is_still = false;
    Lockstep nodes(kind, 16, training, stilled(training, is_still, {}));
    nodes.run(8000);
    CHECK(nodes.error() < 6e-11);
    is_still = true;
    std::vector<std::vector<double>> models;
    for (std::size_t node = 0; node < 16; ++node)
      models.push_back(nodes.trainer(node).parameters());
    nodes.run(10);
    CHECK(nodes.error() == doctest::Approx(after_10).epsilon(.05));
    nodes.run(90);
    CHECK(nodes.error() == doctest::Approx(after_100).epsilon(.05));
    training.algorithm = optim::algorithm_named("dpsgd");
    Lockstep plain(kind, 16, training, stilled(training, is_still, models));
    plain.run(100);
    CHECK(plain.error() < 6e-11);
  }
}

TEST_CASE("A node that comes back when the others have ended and gone says so and trains no more") {
  sim::Options options = reference_world(4, topology::Kind::ring, reference_training(.05));
  options.base.expect = 4;
  options.base.goal.rounds = 400;
  Ending run(options, reference_trainers(reference_training(.05)));
  REQUIRE(run.comes_true([&] { return run.round(3) > 50; }, 60s));
  run.world.pause(3, run.world.now() + 120s);
  REQUIRE(run.comes_true([&] { return run.ended.size() == 3; }, 60s));
  const std::uint64_t model = run.world.status(0).run.end.model.hash;
  for (const std::size_t node : {0, 1, 2}) run.world.tell(node, gossip::LeaveCommand{});
  REQUIRE(run.comes_true([&] { return run.ended.contains(3); }, 180s));
  const gossip::EndStatus end = run.world.status(3).run.end;
  CHECK(end.is_left_behind);
  CHECK(end.model.hash == 0);
  CHECK(end.shortfall.find(fmt::format("the others ended after round 400 with model {:016x}, and "
                                       "none of them is left",
                                       model)) != std::string::npos);
  CHECK(run.round(3) < 100);
  run.expect_sound();
}

// ---------------------------------------------------------------- members that lie about the end

namespace {

// Whether it is about the end of a run.
bool is_of_end(const sim::Lie& lie) {
  return lie.record || lie.tally;
}

class Beside : public Cluster {
 public:
  Beside(const sim::Options& options, const optim::Options& training, std::size_t liar,
         const sim::Lie& lie)
      : Cluster(options, reference_trainers(training, kOneOptimum)),
        liar_(liar),
        mouth_(world, liar, lie) {
    world.observe([this](std::size_t node, const gossip::Output& output) {
      if (node == liar_) return;
      if (std::holds_alternative<gossip::MayEnd>(output)) finished_.insert(node);
      const auto* event = std::get_if<gossip::Event>(&output);
      if (!event) return;
      if (event->kind == gossip::Event::Kind::ending) {
        CHECK(world.status(node).run.round >= kRounds);
        if (ending_++ == 0) began_ = world.now();
      }
      const std::string name = sim::name_of(liar_);
      is_named |= event->text.starts_with("the model of the end from " + name);
    });
    start_all();
  }

  // How long the honest nodes took from the first one's last round.
  Duration expect_one_end() {
    CHECK(comes_true([this] { return finished_.size() + 1 == kNodes; }, 120s));
    const Duration took = world.now() - began_;
    std::set<std::uint64_t> models;
    for (std::size_t node = 0; node < kNodes; ++node)
      if (node != liar_) models.insert(world.status(node).run.end.model.hash);
    CHECK(models.size() == 1);
    CHECK(!models.contains(0));
    for (const sim::Violation& violation : checker.violations())
      if (violation.node != liar_) FAIL_CHECK(sim::to_text(violation, 1));
    return took;
  }

  bool is_named = false;  // the liar, by somebody

 private:
  std::size_t liar_;
  sim::Liar mouth_;
  std::set<std::size_t> finished_;
  std::size_t ending_ = 0;
  Time began_{};
};

}  // namespace

// Whichever member lies: the one of the highest rank gives the model. The others wait for one that
// seems to train on, or for its model, and then until all have theirs. With `mean` all are trusted,
// and one that says that its part comes later is waited for.
TEST_CASE("No member that lies about the end brings it nearer or keeps it away or has its model") {
  for (const optim::MixRule& rule : optim::mix_rules())
    for (const sim::Lie& lie : sim::lies()) {
      if (!is_of_end(lie) || (rule.is_plain && lie.name == "busy")) continue;
      CAPTURE(rule.name);
      CAPTURE(lie.name);
      optim::Options training = reference_training(0.1);
      training.algorithm = optim::algorithm_named("dpsgd");
      training.aggregation = {.rule = &rule, .liars = 1};
      sim::Options options = reference_world(kNodes, topology::Kind::complete, training);
      options.base.expect = kNodes;
      options.base.goal.rounds = kRounds;
      bool is_named = false;
      for (std::size_t liar = 0; liar < kNodes; ++liar) {
        CAPTURE(liar);
        Beside cluster(options, training, liar, lie);
        CHECK(cluster.expect_one_end() < 3 * gossip::kSettlePatience + 1s);
        is_named |= cluster.is_named;
      }
      if (!rule.is_plain) CHECK(is_named == (lie.name == "seal"));
    }
}
