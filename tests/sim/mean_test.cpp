// The mean of all parameters while nothing is learned: it stays, whatever is lost, comes twice or
// out of order, and a node that joins or leaves brings or takes exactly a share. TEST_SEEDS in the
// environment is how many seeds to try.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/prng.h"
#include "sim/checker.h"
#include "sim/world.h"
#include "tests/lengths.h"
#include "tests/sim/legal_ways.h"
#include "tests/sim/reference.h"

using namespace starling;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kFounders = 16, kAll = 26;
constexpr std::size_t kWhole = 8;

// Every node begins elsewhere, and no gradient moves it.
template <class S>
class Still final : public optim::Objective<S> {
 public:
  explicit Still(std::size_t node) : node_(node) {}
  void assign(const optim::Shard&) override {}
  optim::DataSummary describe() const override { return {1, "nothing", "still"}; }
  std::span<const optim::ParameterBlock> blocks() const override { return blocks_; }
  std::size_t samples() const override { return 1; }
  void initialize(std::span<S> x, std::uint64_t) const override {
    for (std::size_t k = 0; k < x.size(); ++k)
      x[k] = static_cast<S>(1 + Prng(mix64(node_ << 8 | k)).uniform());
  }
  double loss_and_gradient(std::span<const S>, std::span<const std::uint32_t>,
                           std::span<S> gradient) override {
    std::ranges::fill(gradient, S{0});
    return 0;
  }
  optim::Evaluation evaluate(std::span<const S>, std::size_t) override { return {}; }

 private:
  std::vector<optim::ParameterBlock> blocks_ = optim::one_block(8);
  std::size_t node_;
};

optim::Options training_with(const optim::AlgorithmRow* algorithm, std::string_view format) {
  optim::Options options;
  options.algorithm = algorithm;
  options.codec = optim::wire_form_named(format);
  options.learning_rate = 0;
  options.batch_size = 0;
  return options;
}

// A network on which much is lost.
sim::Options world_of(std::size_t nodes, const optim::Options& training, std::uint64_t seed) {
  sim::Options options = test::reference_world(nodes, topology::Kind::random, training);
  options.seed = seed;
  options.compute = 50ms;
  options.network = {.delay = 2ms, .jitter = 10ms, .loss = 0.3};
  return options;
}

// What the models of all that run add up to, kept by what joins and leaves.
class Mass {
 public:
  // `founders` nodes run from the beginning.
  Mass(const sim::Options& options, const optim::Options& training, std::size_t founders,
       bool is_double = false)
      : world_(options, is_double ? trainers<double>(training) : trainers<float>(training)),
        checker_(world_),
        sum_(8),
        chance_(mix64(options.seed)) {
    world_.observe([this](std::size_t node, const gossip::Output& output) {
      const auto* event = std::get_if<gossip::Event>(&output);
      if (event && event->kind == gossip::Event::Kind::started) add(node, 1), began_[node] = true;
      // One that leaves while it still waits for the others takes nothing with it.
      if (std::holds_alternative<gossip::Stopped>(output) && began_[node]) add(node, -1);
    });
    for (std::size_t node = 0; node < founders; ++node) world_.start(node);
  }

  // Ten nodes join and ten leave, at random, in a minute of a bad network; then it is sound again.
  void play() {
    std::size_t joins = kFounders, leaves = 0;
    for (int k = 0; k < test::full_or(20, 4); ++k) {
      world_.run_until(world_.now() + 2s + Duration(chance_.below(2'000'000'000)));
      if (k % 2 == 0)
        world_.start(joins++);
      else
        world_.tell(leaves++, gossip::LeaveCommand{});
    }
    settle(test::full_or(30s, 10s));
  }
  // So many leave one after the other, while the others go on.
  void leave_in_turn(std::size_t count) {
    for (std::size_t node = 0; node < count; ++node) {
      world_.run_until(world_.now() + 4s);
      world_.tell(node, gossip::LeaveCommand{});
    }
    settle(10s);
  }
  // Three are cut off until the others take them for dead, and come back.
  void part() {
    world_.run_until(Time(2s));
    const std::vector<std::size_t> group = {0, 1, 2};
    world_.network().partition(group, kWhole);
    world_.run_until(world_.now() + 15s);
    world_.network().heal();
    world_.run_until(world_.now() + 8s);
    settle(6s);
  }
  // Relative to the mean that it should be, the largest of all parameters.
  double drift() {
    std::vector<double> total(8);
    const std::vector<std::size_t> running = world_.running();
    for (std::size_t node : running) {
      const std::vector<double> x = world_.trainer(node).parameters();
      for (std::size_t k = 0; k < total.size(); ++k) total[k] += x[k];
    }
    double worst = 0;
    for (std::size_t k = 0; k < total.size(); ++k)
      worst = std::max(worst, std::abs(total[k] - sum_[k]) / std::abs(sum_[k]));
    return worst;
  }
  sim::Checker& checker() { return checker_; }
  sim::World& world() { return world_; }

 private:
  template <class S>
  static sim::TrainerFactory trainers(const optim::Options& training) {
    return [=](std::size_t node) {
      return optim::make_trainer<S>(training, std::make_unique<Still<S>>(node), node,
                                    [] { return Time{}; });
    };
  }
  // On a sound network, until the models are so near to each other that a pair that is averaged at
  // one end so far moves the mean by less than the bound.
  void settle(Duration time) {
    world_.network().options() = {.delay = 2ms};
    world_.run_until(world_.now() + time);
  }
  void add(std::size_t node, double sign) {
    const std::vector<double> x = world_.trainer(node).parameters();
    for (std::size_t k = 0; k < x.size(); ++k) sum_[k] += sign * x[k];
  }

  sim::World world_;
  sim::Checker checker_;
  std::vector<double> sum_;
  std::vector<bool> began_ = std::vector<bool>(kAll);
  Prng chance_;
};

// How near to each other the models of a sound network end, relative to their size: by what the
// wire rounds to.
struct Wire {
  std::string format;
  double distance;
  bool is_double = false;
};

std::uint64_t seeds_or(std::uint64_t full) {
  const char* more = std::getenv("TEST_SEEDS");
  return more ? std::strtoull(more, nullptr, 10) : test::full_or<std::uint64_t>(full, 1);
}

void expect_mean_stays(const Wire& wire, std::uint64_t seeds = seeds_or(4)) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(wire.format);
    CAPTURE(seed);
    const optim::Options training = training_with(optim::algorithm_named("dpsgd"), wire.format);
    sim::Options options = world_of(kAll, training, seed);
    options.base.expect = kFounders;
    options.base.seeds = {sim::control_of(12), sim::control_of(13)};
    options.network.duplicate = options.network.reorder = 0.2;
    Mass mass(options, training, kFounders, wire.is_double);
    mass.play();
    CHECK(mass.world().running().size() == kFounders);
    CHECK(mass.drift() < (wire.is_double ? 1e-12 : 1e-6));
    CHECK(sim::consensus_distance(mass.world()) < wire.distance);
    mass.checker().expect_settled();
    for (const sim::Violation& violation : mass.checker().violations())
      FAIL_CHECK(sim::to_text(violation, seed));
  }
}

}  // namespace

TEST_CASE("The mean stays under loss and repetition while nodes join and leave") {
  expect_mean_stays({"f32", 1e-5});
}

// What is subtracted is what was sent, rounded as the receiver sees it.
TEST_CASE("The mean stays though the wire rounds to two bytes") {
  if (test::tries_full()) expect_mean_stays({"f16", 5e-4});
  expect_mean_stays({"bf16", 4e-3});
}

// Both ends add the same two messages with opposite sign.
TEST_CASE("The mean stays though vectors are encoded against earlier ones") {
  for (const std::string& codec : test::compressed_forms())
    for (const bool is_double : {false, true})
      expect_mean_stays({codec, 2e-3, is_double}, seeds_or(2));
}

// Half of the messages are lost, and with them those of the last pairs.
TEST_CASE("The mean stays when nodes leave over a bad network") {
  const optim::Options training = training_with(optim::algorithm_named("dpsgd"), "f64");
  for (std::uint64_t seed = 1; seed <= test::full_or(100U, 20U); ++seed) {
    CAPTURE(seed);
    sim::Options options = world_of(kWhole, training, seed);
    options.base.expect = kWhole;
    options.network.loss = 0.5;
    // The first leaves before all have met it.
    for (std::size_t node = 0; node < kWhole; ++node)
      options.base.seeds.push_back(sim::control_of(node));
    Mass mass(options, training, kWhole, true);
    mass.leave_in_turn(4);
    CHECK(mass.world().running().size() == kWhole - 4);
    CHECK(mass.drift() < 1e-12);
  }
}

// What such an algorithm remembers of an edge ends with the edge, and what both ends have offered
// over it must still be averaged at both.
TEST_CASE("The mean stays through a partition under loss with algorithms that keep flows") {
  for (const optim::AlgorithmRow& row : optim::algorithms()) {
    if (row.needs.pairing != optim::Pairing::exactly_once) continue;
    for (const test::Rhythm& rhythm : test::rhythms()) {
      const gossip::ScheduleRow& schedule = *rhythm.schedule;
      if (row.needs.is_pairwise != schedule.is_pairwise || schedule.is_loose) continue;
      for (const char* codec : {"f32", "i4"}) {
        CAPTURE(std::string(row.name));
        CAPTURE(rhythm.name);
        CAPTURE(codec);
        optim::Options training = training_with(&row, codec);
        if (schedule.is_in_slices && training.codec.remembers()) continue;
        training.aggregation.slicing.is_on = schedule.is_in_slices;
        sim::Options options = world_of(kWhole, training, 1);
        if (schedule.is_in_slices || rhythm.sequence.moves())
          options.base.topology.kind = rhythm.kind;
        options.base.topology.sequence = rhythm.sequence;
        options.base.expect = kWhole;
        options.base.schedule = &schedule;
        Mass mass(options, training, kWhole);
        mass.part();
        CHECK(mass.world().running().size() == kWhole);
        CHECK(mass.drift() < 1e-6);
        for (const sim::Violation& violation : mass.checker().violations())
          FAIL_CHECK(sim::to_text(violation, 1));
      }
    }
  }
}
