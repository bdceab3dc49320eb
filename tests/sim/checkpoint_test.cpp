// Nodes that stop and go on from their checkpoints.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "optim/local/local_learner.h"
#include "optim/saved_state.h"
#include "tests/lengths.h"
#include "tests/sim/cluster.h"
#include "tests/sim/lockstep.h"
#include "topology/sequence.h"

using namespace starling;
using namespace starling::test;

namespace {

constexpr std::size_t kNodes = 6;
constexpr std::uint64_t kStop = 7, kSave = 11, kEnd = 18;

struct Case {
  const optim::AlgorithmRow* algorithm;
  std::string sequence = "still";
  bool is_single = false;  // 32 bit
  optim::LocalOptimizerKind optimizer = optim::LocalOptimizerKind::sgd;
  optim::OuterKind outer = optim::OuterKind::none;
  std::size_t local_steps = 1;
  const optim::Format* codec = nullptr;  // null: the numbers as they are

  std::string text() const {
    return fmt::format("{} over {}, {} bit, {}, {} steps, outer {}, codec {}", algorithm->name,
                       sequence, is_single ? 32 : 64, optim::name(optimizer), local_steps,
                       optim::name(outer), codec ? codec->name : "none");
  }
};

optim::Options training_of(const Case& what) {
  optim::Options training = reference_training(0.02);
  training.algorithm = what.algorithm;
  training.local_optimizer = what.optimizer;
  training.outer = what.outer;
  training.local_steps.fixed = what.local_steps;
  training.batch_size = 6;  // of 20 samples
  training.momentum = 0.8;
  if (what.algorithm == optim::algorithm_named("admm")) training.penalty = 0.5;
  if (what.is_single) training.codec = optim::wire_form_named("f32");
  if (what.codec) training.codec = {.format = what.codec};
  return training;
}

template <class S>
sim::TrainerFactory trainers_in(const optim::Options& training) {
  return [training](std::size_t node) {
    // Without a closed form, so that admm takes steps and draws batches too.
    return optim::make_trainer<S>(training, reference_objective_in<S>({}, node, false), node + 1,
                                  [] { return Time{}; });
  };
}

sim::Options world_of(const Case& what, std::uint64_t rounds) {
  sim::Options options = reference_world(kNodes, topology::Kind::ring, training_of(what));
  options.base.topology.sequence = *topology::parse_sequence(what.sequence);
  options.base.expect = kNodes;
  options.base.goal.rounds = rounds;
  options.base.checkpoint = {.is_kept = true};
  return options;
}

sim::TrainerFactory trainers_of(const Case& what) {
  const optim::Options training = training_of(what);
  return what.is_single ? trainers_in<float>(training) : trainers_in<double>(training);
}

bool all_finished(Cluster& cluster) {
  return cluster.comes_true(
      [&] {
        return std::ranges::all_of(cluster.world.running(), [&](std::size_t node) {
          const gossip::Status status = cluster.world.status(node);
          return status.state == gossip::State::finished &&
                 status.checkpoint.round == status.run.round;
        });
      },
      60s);
}

bool all_have_saved(Cluster& cluster, std::uint64_t round) {
  return std::ranges::all_of(cluster.world.running(), [&](std::size_t node) {
    return cluster.world.status(node).checkpoint.round == round;
  });
}

// As the last round left them: in which order they are summed up after it, chance decides.
void watch_last(Cluster& cluster, std::vector<std::vector<double>>& models) {
  models.resize(kNodes);
  cluster.world.observe([&](std::size_t node, const gossip::Output& output) {
    const auto* event = std::get_if<gossip::Event>(&output);
    if (event && event->kind == gossip::Event::Kind::ending)
      models[node] = cluster.world.trainer(node).parameters();
  });
}

std::vector<std::vector<double>> models_of(const Cluster& cluster) {
  std::vector<std::vector<double>> all;
  for (const std::size_t node : cluster.world.running())
    all.push_back(cluster.world.trainer(node).parameters());
  return all;
}

void crash_all(Cluster& cluster) {
  for (const std::size_t node : cluster.world.running()) cluster.world.crash(node);
}

void start_again(Cluster& cluster, std::uint64_t rounds) {
  for (std::size_t node = 0; node < cluster.world.options().nodes; ++node) {
    gossip::Options next = sim::node_options(cluster.world.options(), node);
    next.goal.rounds = rounds;
    cluster.world.start(node, next);
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const optim::AlgorithmRow& row : optim::algorithms()) {
    if (row.needs.sums) continue;  // a new life begins them anew
    const bool is_pairwise = row.needs.is_pairwise;
    for (const char* sequence : {"still", "matching"}) {
      if (is_pairwise || (row.needs.overlaps && sequence == std::string("matching"))) continue;
      for (const bool is_single : {false, true}) all.push_back({&row, sequence, is_single});
    }
  }
  const auto* dpsgd = optim::algorithm_named("dpsgd");
  const auto* gt = optim::algorithm_named("gt");
  const auto* ed = optim::algorithm_named("ed");
  using enum optim::LocalOptimizerKind;
  for (const auto optimizer : {momentum, nesterov, adam, adamw}) {
    all.push_back({dpsgd, "still", false, optimizer});
    all.push_back({gt, "still", true, optimizer, optim::OuterKind::none, 3});
  }
  all.push_back({dpsgd, "matching", false, momentum, optim::OuterKind::nesterov, 3});
  all.push_back({dpsgd, "still", true, adam, optim::OuterKind::slowmo, 3});
  all.push_back({ed, "still", false, sgd, optim::OuterKind::none, 5});
  return all;
}

// The choices of a key are the enumerators, in their order.
template <class Kind>
std::vector<Kind> kinds_of(const char* key) {
  Schema schema;
  optim::describe(schema);
  std::vector<Kind> kinds;
  for (std::size_t k = 0; k < schema.find(key)->choices.size(); ++k)
    kinds.push_back(static_cast<Kind>(k));
  return kinds;
}

// With every codec, in both kinds of numbers.
void add_formats(const Case& what, std::vector<Case>& all) {
  for (const optim::Format& format : optim::formats())
    for (const bool is_single : {false, true}) {
      all.push_back(what);
      all.back().is_single = is_single;
      all.back().codec = &format;
    }
}

// What daemon/setup/legality.cpp allows, by the registries: what is added to one of them is tried
// with all of the others. Whom a trainer exchanges with is all that a sequence means to it.
// Pairwise algorithms have it from Lockstep.
std::vector<Case> legal_cases() {
  std::vector<Case> all;
  for (const optim::AlgorithmRow& row : optim::algorithms())
    for (const auto optimizer : kinds_of<optim::LocalOptimizerKind>("optim.local-optimizer"))
      for (const auto outer : kinds_of<optim::OuterKind>("optim.outer")) {
        const bool has_outer = outer != optim::OuterKind::none;
        if (!allows(row.optimizers, optimizer) || (has_outer && !row.outer_refusal.empty()) ||
            row.needs.sums)
          continue;
        add_formats({&row, "still", false, optimizer, outer, 3}, all);
        for (const topology::SequenceRow& sequence : topology::sequences())
          if (sequence.make && !row.needs.is_pairwise && sequence.allows(topology::Kind::automatic))
            add_formats({&row, to_string(topology::SequenceChoice{&sequence, sequence.least}),
                         false, optimizer, outer, 3},
                        all);
      }
  return all;
}

// Sixteen nodes on a torus that save so often.
Cluster saving_cluster(const char* algorithm, const gossip::CheckpointPlan& plan, double loss = 0,
                       std::uint64_t seed = 1, std::string_view codec = "f64") {
  optim::Options training = reference_training(0.1);
  training.codec = optim::wire_form_named(codec);
  training.algorithm = optim::algorithm_named(algorithm);
  sim::Options options = reference_world(16, topology::Kind::torus, training);
  options.base.expect = 16;
  options.base.checkpoint = plan;
  options.seed = seed;
  options.network.loss = loss;
  return {options, training};
}

// The short form looks at no error.
bool becomes_exact(Cluster& cluster) {
  if (!tries_full()) return true;
  const bool is_exact = cluster.comes_true([&] { return cluster.error() <= 1e-10; }, 300s);
  CAPTURE(cluster.error());
  CHECK(is_exact);
  return is_exact;
}

void expect_sound(const Cluster& cluster) {
  for (const sim::Violation& violation : cluster.checker.violations())
    FAIL_CHECK(sim::to_text(violation, cluster.world.options().seed));
}

bool warns(const Cluster& cluster, std::size_t node, const std::string& of) {
  const auto reasons = cluster.world.status(node).reasons;
  return std::ranges::any_of(
      reasons, [&](const std::string& text) { return text.find(of) != std::string::npos; });
}

std::uint64_t newest_round(Cluster& cluster, std::size_t node) {
  const auto newest = cluster.world.machine(node).disk.newest();
  return newest ? newest->round : 0;
}

// The rounds from which nodes began since so many events.
std::vector<std::uint64_t> begun_from(const Cluster& cluster, std::size_t seen) {
  constexpr std::string_view kBegun = "training from round ";
  std::vector<std::uint64_t> rounds;
  for (std::size_t k = seen; k < cluster.events.size(); ++k)
    if (const std::string& text = cluster.events[k]; text.starts_with(kBegun))
      rounds.push_back(std::stoul(text.substr(kBegun.size())));
  return rounds;
}

}  // namespace

TEST_CASE("A fleet that stops at one round goes on bit for bit") {
  for (const Case& what : all_or_first(8, cases())) {
    CAPTURE(what.text());
    Cluster whole(world_of(what, kEnd), trainers_of(what));
    std::vector<std::vector<double>> expected, found;
    watch_last(whole, expected);
    whole.start_all();
    REQUIRE(all_finished(whole));

    sim::Options options = world_of(what, kEnd);
    options.base.checkpoint.rounds = kSave;  // once before the end
    Cluster cut(options, trainers_of(what));
    watch_last(cut, found);
    cut.start_all();
    REQUIRE(cut.comes_true([&] { return all_have_saved(cut, kSave); }, 60s));
    crash_all(cut);
    start_again(cut, kEnd);
    REQUIRE(all_finished(cut));
    CHECK(found == expected);
  }
}

TEST_CASE("All that is legal goes on bit for bit from what it saved") {
  const std::vector<Case> all = legal_cases();
  CHECK(all.size() > 500);
  for (std::size_t k = 0; k < all.size(); k += full_or<std::size_t>(1, 17)) {
    const Case& what = all[k];
    CAPTURE(what.text());
    const auto run = [&](bool is_cut) {
      Lockstep nodes(topology::Kind::ring, kNodes, training_of(what), trainers_of(what));
      if (what.sequence != "still") nodes.follow(what.sequence, 7);
      nodes.run(kStop);
      if (is_cut) nodes.go_on_from_saved();
      nodes.run(kEnd - kStop);
      std::vector<std::vector<double>> models;
      for (std::size_t node = 0; node < kNodes; ++node)
        models.push_back(nodes.trainer(node).parameters());
      return models;
    };
    CHECK(run(true) == run(false));
  }
}

TEST_CASE("A node alone goes on bit for bit") {
  for (const bool is_single : {false, true}) {
    Case what{optim::algorithm_named("dpsgd"), "still", is_single, optim::LocalOptimizerKind::adam};
    const auto world = [&](std::uint64_t rounds) {
      sim::Options options = world_of(what, rounds);
      options.nodes = 1;
      options.base.expect = 1;
      return options;
    };
    Cluster whole(world(kEnd), trainers_of(what)), cut(world(kStop), trainers_of(what));
    whole.start_all();
    REQUIRE(all_finished(whole));
    for (std::uint64_t rounds = kStop; rounds < kEnd; rounds += 4) {
      if (cut.world.running().empty()) start_again(cut, rounds);
      if (rounds == kStop) cut.world.crash(0), start_again(cut, rounds);
      REQUIRE(all_finished(cut));
      cut.world.crash(0);
    }
    start_again(cut, kEnd);
    REQUIRE(all_finished(cut));
    CHECK(models_of(cut) == models_of(whole));
  }
}

// One round for all, and no goal that would end the run there.
TEST_CASE("A fleet goes on bit for bit from the round that it agreed to save") {
  const std::uint64_t end = full_or<std::uint64_t>(400, 300);
  for (const char* algorithm : all_or_first<const char*>(1, {"ed", "dpsgd", "gt", "admm"})) {
    CAPTURE(algorithm);
    const Case what{optim::algorithm_named(algorithm)};
    Cluster whole(world_of(what, end), trainers_of(what)),
        cut(world_of(what, end), trainers_of(what));
    std::vector<std::vector<double>> expected, found;
    watch_last(whole, expected);
    watch_last(cut, found);
    whole.start_all();
    REQUIRE(all_finished(whole));
    cut.start_all();
    REQUIRE(cut.comes_true([&] { return cut.round(3) > 20; }, 60s));
    cut.world.tell(3, gossip::CheckpointCommand{true});
    const auto all_saved = [&] {
      const gossip::Status status = cut.world.status(1);
      return status.checkpoint.fleet_round &&
             std::ranges::all_of(status.members, [&](const gossip::MemberStatus& member) {
               return member.member->saved >= *status.checkpoint.fleet_round;
             });
    };
    REQUIRE(cut.comes_true(all_saved, 30s));
    for (std::size_t node = 0; node < kNodes; ++node)
      CHECK(newest_round(cut, node) == cut.world.status(node).checkpoint.fleet_round);
    crash_all(cut);
    start_again(cut, end);
    REQUIRE(all_finished(cut));
    CHECK(found == expected);
  }
}

TEST_CASE("An exact algorithm stays exact when all nodes lose power again and again") {
  struct Way {
    const char *algorithm, *codec;
  };
  const Way ways[] = {{"ed", "i4"}, {"ed", "f64"}, {"gt", "f64"}, {"gt", "i2"}, {"extra", "f64"}};
  for (const auto& [algorithm, codec] : all_or_first<Way>(1, {std::begin(ways), std::end(ways)})) {
    CAPTURE(algorithm);
    CAPTURE(codec);
    const gossip::CheckpointPlan by_rounds{.rounds = 7, .is_kept = true};
    const gossip::CheckpointPlan by_time{.every = 130ms, .is_kept = true};
    for (const auto& plan : all_or_first<gossip::CheckpointPlan>(1, {by_rounds, by_time})) {
      Cluster cluster = saving_cluster(algorithm, plan, 0.1, 1, codec);
      cluster.start_all();
      Prng prng(5);
      for (int cut = 0; cut < full_or(4, 1); ++cut) {
        cluster.world.run_until(cluster.world.now() + 1s + from_seconds(prng.uniform()));
        crash_all(cluster);
        // Some find the newest one damaged.
        for (std::size_t node = 0; node < 16; ++node) {
          auto& kept = cluster.world.machine(node).disk.checkpoints;
          if (prng.chance(0.2) && !kept.empty()) kept.pop_back();
        }
        start_again(cluster, 0);
      }
      CHECK(cluster.comes_true(
          [&] { return cluster.world.status(0).state == gossip::State::training; }, 20s));
      becomes_exact(cluster);
      expect_sound(cluster);
    }
  }
}

TEST_CASE("A fleet that lost power goes on from its last checkpoints and not from the start") {
  Cluster cluster = saving_cluster("dpsgd", {.rounds = 10, .is_kept = true});
  cluster.start_all();
  REQUIRE(cluster.comes_true([&] { return cluster.round(0) > 100; }, 60s));
  crash_all(cluster);
  std::vector<std::uint64_t> saved;
  for (std::size_t node = 0; node < 16; ++node) saved.push_back(newest_round(cluster, node));
  CHECK(std::ranges::min(saved) >= 80);
  const Time back = cluster.world.now();
  start_again(cluster, 0);
  REQUIRE(cluster.comes_true(
      [&] {
        return std::ranges::all_of(cluster.world.running(), [&](std::size_t node) {
          return cluster.world.status(node).run.round > saved[node];
        });
      },
      20s));
  CHECK(cluster.world.now() - back <= 1s);
}

TEST_CASE("A node that comes back while the others train takes their model") {
  const std::uint64_t far = full_or<std::uint64_t>(400, 120);
  Cluster cluster = saving_cluster("dpsgd", {.rounds = 10, .is_kept = true});
  cluster.start_all();
  REQUIRE(cluster.comes_true([&] { return cluster.round(0) > 50; }, 60s));
  cluster.world.crash(5);
  REQUIRE(cluster.comes_true([&] { return cluster.round(0) > far; }, 60s));
  REQUIRE(newest_round(cluster, 5) >= 40);
  const std::size_t seen = cluster.events.size();
  cluster.world.start(5);
  REQUIRE(cluster.comes_true([&] { return cluster.world.status(5).run.round > far; }, 20s));
  const std::vector<std::uint64_t> begun = begun_from(cluster, seen);
  REQUIRE(begun.size() == 1);
  CHECK(begun.front() > far);
  expect_sound(cluster);
}

TEST_CASE("A fleet goes on from its latest checkpoint also at a node that has an older one") {
  const std::uint64_t far = full_or<std::uint64_t>(400, 180);
  Cluster cluster = saving_cluster("ed", {.rounds = 10, .is_kept = true});
  cluster.start_all();
  REQUIRE(cluster.comes_true([&] { return cluster.round(0) > 50; }, 60s));
  cluster.world.crash(5);
  REQUIRE(cluster.comes_true([&] { return cluster.round(0) > far; }, 60s));
  crash_all(cluster);
  REQUIRE(newest_round(cluster, 5) < far / 2);
  const std::size_t seen = cluster.events.size();
  start_again(cluster, 0);
  const auto trains_on = [&] { return begun_from(cluster, seen).size() == 16; };
  REQUIRE(cluster.comes_true(trains_on, 20s));
  CHECK(std::ranges::min(begun_from(cluster, seen)) >= far - 20);
  becomes_exact(cluster);
  expect_sound(cluster);
}

TEST_CASE("A node that takes leave saves first and what it saved is whole") {
  Cluster cluster = saving_cluster("gt", {.is_kept = true});
  cluster.start_all();
  REQUIRE(cluster.comes_true([&] { return cluster.round(0) > 30; }, 60s));
  cluster.world.tell(5, gossip::LeaveCommand{});
  REQUIRE(cluster.comes_true([&] { return !cluster.world.runs(5); }, 2s));
  CHECK(newest_round(cluster, 5) >= 30);
}

TEST_CASE(
    "A disk that is full costs nothing but the checkpoints and is used again when it has room") {
  Cluster cluster = saving_cluster("dpsgd", {.every = 100ms, .is_kept = true});
  cluster.start_all();
  REQUIRE(cluster.comes_true([&] { return newest_round(cluster, 2) > 0; }, 60s));
  cluster.world.machine(2).disk.fault = "No space left on device";
  REQUIRE(cluster.comes_true(
      [&] { return cluster.world.status(2).state == gossip::State::degraded; }, 5s));
  CHECK(warns(cluster, 2, "No space left on device"));
  const std::uint64_t round = cluster.round(2), saved = newest_round(cluster, 2);
  REQUIRE(cluster.comes_true([&] { return cluster.round(2) > round + 100; }, 10s));
  CHECK(newest_round(cluster, 2) == saved);
  cluster.world.machine(2).disk.fault = "";
  REQUIRE(cluster.comes_true([&] { return newest_round(cluster, 2) > round + 100; }, 5s));
  CHECK(cluster.world.status(2).state == gossip::State::training);
  CHECK_FALSE(warns(cluster, 2, "checkpoint"));
}

TEST_CASE("A slow disk delays checkpoints and no round") {
  const auto rounds_in = [](Duration write_time) {
    Cluster cluster = saving_cluster("dpsgd", {.every = 50ms, .is_kept = true});
    cluster.start_all();
    for (std::size_t node = 0; node < 16; ++node)
      cluster.world.machine(node).disk.write_time = write_time;
    const Duration time = full_or<Duration>(10s, 3s);
    cluster.world.run_until(Time(time));
    CHECK(cluster.world.machine(3).disk.checkpoints.size() <=
          static_cast<std::size_t>(time / write_time));
    return cluster.round(3);
  };
  CHECK(rounds_in(2s) == rounds_in(1ms));
}

TEST_CASE("A checkpoint of another model ends the node and says why") {
  Cluster cluster = saving_cluster("dpsgd", {.rounds = 5, .is_kept = true});
  cluster.start_all();
  REQUIRE(cluster.comes_true([&] { return newest_round(cluster, 0) > 0; }, 60s));
  crash_all(cluster);
  auto other = *cluster.world.machine(0).disk.newest();
  auto state = *other.state;
  state.schema = "another";
  other.state = std::make_shared<const optim::SavedState>(state);
  cluster.world.machine(0).disk.checkpoints.push_back(
      std::make_shared<const gossip::Checkpoint>(std::move(other)));
  std::string error;
  cluster.world.observe([&](std::size_t, const gossip::Output& output) {
    if (const auto* stopped = std::get_if<gossip::Stopped>(&output)) error = stopped->error;
  });
  gossip::Options alone = sim::node_options(cluster.world.options(), 0);
  alone.expect = 1;
  cluster.world.start(0, alone);
  REQUIRE(cluster.comes_true([&] { return !cluster.world.runs(0); }, 20s));
  CHECK(error.find("is of another model: another") != std::string::npos);
  CHECK(error.find("checkpoint.resume = no") != std::string::npos);
}
