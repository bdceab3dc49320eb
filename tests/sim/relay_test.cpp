// Relays: nodes without data, at which nodes meet that nobody can dial. They average as all do, and
// what is learned is what the others learn without them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/lengths.h"
#include "tests/sim/battery.h"
#include "tests/sim/cluster.h"
#include "tests/sim/hidden_world.h"
#include "tests/sim/legal_ways.h"
#include "tests/sim/trials.h"

using namespace starling;
using namespace starling::test;

namespace {

constexpr std::size_t kNodes = 16;

// The first nodes are relays, and nobody can dial the others.
sim::Options world_of(const LegalWay& way, std::size_t relays, std::uint64_t seed = 1) {
  sim::Options options = hidden_world(way, kNodes, {kNodes - relays, 3}, seed);
  options.relays = relays;
  options.base.expect = kNodes - relays;
  return options;
}

class Relayed : public Cluster {
 public:
  Relayed(const sim::Options& options, const optim::Options& training)
      : Cluster(options, training) {
    start_all();
  }
  explicit Relayed(const LegalWay& way, std::size_t relays = 1, std::uint64_t seed = 1)
      : Relayed(world_of(way, relays, seed), training_of(way)) {}

  void run(Duration time) { world.run_until(world.now() + time); }
  void restart(std::size_t node) {
    gossip::Options options = sim::node_options(world.options(), node);
    options.expect = 0;
    world.start(node, options);
  }
  // Of all that run, from the optimum of those with data.
  double distance_to_optimum() const {
    const std::vector<std::size_t> nodes = world.running();
    std::vector<std::size_t> trainers = nodes;
    std::erase_if(trainers, [&](std::size_t node) { return node < world.options().relays; });
    return distance_from(reference_optimum({}, trainers), nodes);
  }
  double distance_from(const std::vector<double>& point,
                       const std::vector<std::size_t>& nodes) const {
    double sum = 0;
    for (const std::size_t node : nodes) {
      const std::vector<double> x = world.trainer(node).parameters();
      if (x.size() != point.size()) return std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < point.size(); ++k) sum += std::pow(x[k] - point[k], 2);
    }
    return std::sqrt(sum / static_cast<double>(nodes.size()));
  }
  bool becomes_exact() {
    const Duration pause = 20 * world.options().compute;
    for (const Time end = world.now() + 600 * pause; world.now() < end;) {
      run(pause);
      if (distance_to_optimum() <= kExactDistance) return true;
    }
    MESSAGE("error ", distance_to_optimum(), " in round ", round(kNodes - 1));
    return false;
  }
  void expect_sound() const {
    for (const sim::Violation& violation : checker.violations())
      FAIL_CHECK(sim::to_text(violation, world.options().seed));
  }
};

}  // namespace

// One relay and two by turns; with TEST_ALL in the environment both. In the short form one in four
// goes on to the optimum.
TEST_CASE("Hidden nodes around relays come to their optimum by every exact way") {
  std::size_t turn = 0;
  for (const LegalWay& way : legal_ways()) {
    ++turn;
    if (turn / 2 % 4 > 0 && !tries_full()) continue;  // every fourth pair of ways
    for (const std::size_t relays : {1, 2}) {
      if (turn % 2 != relays % 2 && !std::getenv("TEST_ALL")) continue;
      CAPTURE(way.name);
      CAPTURE(relays);
      Relayed cluster(way, relays, turn);
      if (reaches_optimum(way) && (tries_full() || turn % 4 == 1))
        CHECK(cluster.becomes_exact());
      else
        cluster.run(full_or(10s, 5s));
      CHECK(cluster.round(kNodes - 1) > 10);
      cluster.expect_sound();
    }
  }
}

TEST_CASE("The only relay is killed and comes back and the others end in their optimum") {
  for (const std::string_view algorithm : {"ed", "gt", "extra", "admm"}) {
    CAPTURE(std::string(algorithm));
    Relayed cluster(way_of(algorithm));
    cluster.run(20s);
    cluster.world.crash(0);
    cluster.run(20s);
    cluster.restart(0);
    cluster.run(5s);
    CHECK(cluster.becomes_exact());
    cluster.expect_sound();
  }
}

// All minimise the same, so that only an old model could move the others from their optimum.
TEST_CASE("A relay that comes back with an old checkpoint pulls nobody towards it") {
  const LegalWay way = way_of("dpsgd");
  for (const bool is_kept : {false, true}) {
    CAPTURE(is_kept);
    sim::Options options = world_of(way, 1);
    options.base.checkpoint = {.rounds = 5, .every = {}, .is_kept = is_kept};
    options.base.alone = gossip::Alone::train;
    Cluster cluster(options, reference_trainers(training_of(way), {.n = 1}, 1));
    cluster.start_all();
    cluster.world.run_until(Time(3s));
    const std::vector<double> optimum = reference_optimum({.n = 1}, {0});
    const auto farthest = [&] {
      double most = 0;
      for (std::size_t node = 1; node < kNodes; ++node)
        most = std::max(most, distance(cluster.world.trainer(node).parameters(), optimum));
      return most;
    };
    CHECK(farthest() > 0.1);
    cluster.world.crash(0);
    cluster.world.run_until(Time(full_or(3600s, 600s)));
    const double before = farthest();
    CHECK(before < 1e-3);
    cluster.world.start(0);
    double after = 0;
    for (int k = 0; k < 100; ++k) {
      cluster.world.run_until(cluster.world.now() + 200ms);
      after = std::max(after, farthest());
    }
    CHECK(after <= before);
    CHECK(cluster.world.status(0).edges.size() == kNodes - 1);
    CHECK(cluster.world.status(0).run.round + 2 >= cluster.world.status(1).run.round);
  }
}

TEST_CASE("A relay has no loss and no samples and the means are those of the others") {
  Relayed cluster(way_of("dpsgd"));
  cluster.run(full_or(60s, 30s));
  const gossip::Status relay = cluster.world.status(0);
  CHECK(relay.run.round > 100);
  CHECK(relay.run.steps == 0);
  CHECK(relay.run.samples == 0);
  CHECK_FALSE(relay.run.evaluation);
  CHECK(std::isnan(cluster.progress[0].back().progress.loss));
  double loss = 0, rate = 0;
  for (std::size_t node = 1; node < kNodes; ++node) {
    const gossip::RunStatus run = cluster.world.status(node).run;
    loss += run.loss / (kNodes - 1);
    rate += static_cast<double>(run.samples) / seconds(cluster.world.now()) / (kNodes - 1);
  }
  for (const std::size_t node : {0, 1}) {
    const auto& spreads = cluster.world.status(node).fleet.spreads;
    const auto of = [&](gossip::Quantity quantity) {
      return *spreads[static_cast<std::size_t>(quantity)];
    };
    CHECK(of(gossip::Quantity::loss).mean == doctest::Approx(loss).epsilon(0.01));
    CHECK(*of(gossip::Quantity::loss).least > 0);
    CHECK(of(gossip::Quantity::sample_rate).mean == doctest::Approx(rate).epsilon(0.1));
    CHECK(*of(gossip::Quantity::compute_share).least > 0);
  }
}

TEST_CASE("Relays alone do no rounds and say so") {
  Relayed cluster(way_of("ed"), 2);
  cluster.run(10s);
  const std::uint64_t round = cluster.round(0);
  CHECK(round > 0);
  for (std::size_t node = 2; node < kNodes; ++node) cluster.world.crash(node);
  cluster.run(60s);
  CHECK(cluster.world.status(0).run.round < round + 100);
  const std::string alone =
      "no member has data: all are relays (node.role), which learn nothing; start a node with data";
  const auto says = [&](std::size_t node) {
    const std::vector<std::string> warnings = cluster.world.status(node).warnings;
    return std::ranges::find(warnings, alone) != warnings.end();
  };
  CHECK(says(0));
  for (const std::size_t node : {0, 1}) cluster.world.crash(node);
  cluster.run(1s);
  for (const std::size_t node : {0, 1}) cluster.world.start(node);
  cluster.run(20s);
  CHECK(cluster.world.status(0).run.round == 0);
  CHECK(says(1));
  for (std::size_t node = 2; node < kNodes; ++node) cluster.restart(node);
  cluster.run(5s);
  CHECK_FALSE(says(1));
  CHECK(cluster.becomes_exact());
}

TEST_CASE("A relay ends when the nodes with data have ended and not before") {
  for (const auto& [schedule, sequence] : std::vector<std::pair<std::string, std::string>>{
           {"rounds", "still"}, {"async", "still"}, {"rounds", "matching"}}) {
    CAPTURE(schedule);
    CAPTURE(sequence);
    LegalWay way = way_of("dpsgd");
    way.schedule = gossip::schedule_named(schedule);
    way.sequence = *topology::parse_sequence(sequence);
    sim::Options options = world_of(way, 1);
    options.base.goal.rounds = 40;
    Relayed cluster(options, training_of(way));
    const auto have_ended = [&](std::size_t first) {
      for (std::size_t node = first; node < kNodes; ++node)
        if (cluster.world.status(node).state != gossip::State::finished) return false;
      return true;
    };
    const auto ends = [&](std::size_t node) {
      return cluster.world.status(node).run.end.round.has_value();
    };
    while (!have_ended(1) && cluster.world.now() < Time(300s)) {
      bool has_one_ended = false;
      for (std::size_t node = 1; node < kNodes; ++node) has_one_ended |= ends(node);
      if (ends(0)) CHECK(has_one_ended);
      cluster.run(20ms);
    }
    CHECK(have_ended(1));
    cluster.run(5s);
    CHECK(have_ended(0));
    CHECK(cluster.world.status(0).run.end.goal_reached);
  }
}

TEST_CASE("Chaos around relays breaks no law") {
  for (const std::size_t relays : {1, 2}) {
    sim::Options trial = quick_trial(kNodes);
    trial.relays = relays;
    const sim::Scenario scenario =
        sim::draw_scenario(relays, kNodes, trial.phases.chaos, {kNodes - relays, 3});
    const sim::Verdict verdict =
        sim::try_scenario(trial, reference_trainers(fading_training(), {.n = 8}, relays), scenario);
    for (const sim::Violation& violation : verdict.violations)
      FAIL_CHECK(sim::to_text(violation, relays));
  }
}
