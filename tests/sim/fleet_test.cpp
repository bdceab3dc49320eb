// Every node knows how all nodes are doing, by gossip alone, beside what the simulator sees of all.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "gossip/edges/fleet_means.h"
#include "tests/lengths.h"
#include "tests/sim/cluster.h"
#include "topology/spectrum.h"

using namespace starling;
using namespace starling::test;
using gossip::Quantity;

namespace {

struct Truth {
  double loss = 0, least = 0, most = 0;  // of all nodes that run
  double distance = 0;                   // root mean square, relative to the norm of the mean
};

// A trainer whose parameters are those that the last mix left, as /v1/model gives them, without the
// local step that may be under way.
class BetweenRounds : public optim::Trainer {
 public:
  explicit BetweenRounds(std::unique_ptr<optim::Trainer> trainer) : trainer_(std::move(trainer)) {}

  optim::Workload workload() const override { return trainer_->workload(); }
  optim::Done run(const optim::Job& job) override {
    optim::Job with_copy = job;
    with_copy.copy = job.local || job.absorb || job.seal;
    optim::Done done = trainer_->run(with_copy);
    if (!done.copy.empty()) mixed_ = std::exchange(done.copy, {});
    return done;
  }
  std::vector<double> parameters() const override { return mixed_; }
  std::vector<double> optimum() const override { return trainer_->optimum(); }

 private:
  std::unique_ptr<optim::Trainer> trainer_;
  std::vector<double> mixed_;
};

sim::TrainerFactory between_rounds(const optim::Options& training) {
  return [make = reference_trainers(training)](std::size_t index) {
    return std::make_unique<BetweenRounds>(make(index));
  };
}

Truth truth_of(const sim::World& world) {
  const std::vector<std::size_t> nodes = world.running();
  const auto count = static_cast<double>(nodes.size());
  Truth truth{.least = 1e300, .most = -1e300};
  std::vector<double> mean;
  for (const std::size_t node : nodes) {
    const double loss = world.status(node).run.loss;
    truth.loss += loss / count;
    truth.least = std::min(truth.least, loss);
    truth.most = std::max(truth.most, loss);
    const std::vector<double> x = world.trainer(node).parameters();
    mean.resize(x.size());
    for (std::size_t k = 0; k < x.size(); ++k) mean[k] += x[k] / count;
  }
  double norm = 0;
  for (const double value : mean) norm += value * value;
  double squares = 0;
  for (const std::size_t node : nodes) {
    const std::vector<double> x = world.trainer(node).parameters();
    for (std::size_t k = 0; k < x.size(); ++k) squares += std::pow(x[k] - mean[k], 2) / count;
  }
  truth.distance = std::sqrt(squares / norm);
  return truth;
}

const std::optional<gossip::Spread>& spread(const gossip::Status& status, Quantity quantity) {
  return status.fleet.spreads[static_cast<std::size_t>(quantity)];
}

std::size_t present(const gossip::Status& status) {
  return static_cast<std::size_t>(std::ranges::count_if(status.members, [](const auto& member) {
    return member.liveness <= gossip::Liveness::suspect;
  }));
}

// Of `value`, relative: doctest's own scale would add 1 to what the part is taken of.
doctest::Approx within(double part, double value) {
  return doctest::Approx(value).epsilon(part).scale(0);
}

void expect_known(const sim::World& world) {
  const Truth truth = truth_of(world);
  CAPTURE(truth.loss);
  CAPTURE(truth.distance);
  for (const std::size_t node : world.running()) {
    CAPTURE(node);
    const gossip::Status status = world.status(node);
    CHECK(present(status) == world.running().size());
    REQUIRE(spread(status, Quantity::loss));
    CHECK(spread(status, Quantity::loss)->mean == within(0.01, truth.loss));
    REQUIRE(status.fleet.distance);
    if (truth.distance > 1e-12)
      CHECK(*status.fleet.distance == within(0.15, truth.distance));
    else  // in single numbers
      CHECK(*status.fleet.distance < 1e-4);
  }
}

void pause_all(Cluster& cluster) {
  for (const std::size_t node : cluster.world.running())
    cluster.world.tell(node, gossip::PauseCommand{});
  const auto rest = [&] {
    return std::ranges::all_of(cluster.world.running(), [&](std::size_t node) {
      return cluster.world.status(node).state == gossip::State::paused;
    });
  };
  REQUIRE(cluster.comes_true(rest, 10s));
}

// In which mixing takes a disagreement to a hundredth: rounds of models, or of estimates.
double mixing_rounds(const sim::World& world) {
  const auto graph = world.status(world.running().front()).topology.graph();
  REQUIRE(graph);
  return std::log(0.01) / std::log(topology::second_modulus(*graph));
}

// Estimates come with some vectors only.
double estimate_rounds(const sim::World& world) {
  return gossip::FleetMeans::kSmallVectors * mixing_rounds(world);
}

// Of node-0, which has not mixed in those that it jumped over.
double rounds_done(const Cluster& cluster) {
  return static_cast<double>(cluster.world.status(0).run.steps);
}

Cluster random_graph(std::size_t nodes, std::size_t founders, double loss) {
  const optim::Options training = reference_training(0.1);
  sim::Options options = reference_world(nodes, topology::Kind::random_regular, training);
  options.base.expect = founders;
  options.network.delay = 2ms;
  options.network.loss = loss;
  return Cluster(options, between_rounds(training));
}

}  // namespace

TEST_CASE("Any node knows the whole fleet three mixing times after joins and a crash") {
  for (const double loss : all_or_first(1, {0.2, 0.0})) {
    CAPTURE(loss);
    Cluster cluster = random_graph(18, 16, loss);
    for (std::size_t node = 0; node < 16; ++node) cluster.world.start(node);
    cluster.world.run_until(Time(20s));
    cluster.world.start(16);
    cluster.world.start(17);
    cluster.world.crash(5);
    REQUIRE(cluster.comes_true([&] { return cluster.all_agree(); }, 20s));
    const double until = rounds_done(cluster) + 3 * estimate_rounds(cluster.world);
    const auto has_mixed = [&] { return rounds_done(cluster) >= until; };
    REQUIRE(cluster.comes_true(has_mixed, 60s));
    expect_known(cluster.world);
  }
}

TEST_CASE("A fleet that rests is known three mixing times later") {
  Cluster cluster = random_graph(16, 16, 0.2);
  cluster.start_all();
  cluster.world.run_until(Time(5s));
  pause_all(cluster);
  const double periods = 3 * mixing_rounds(cluster.world);
  const Duration period = cluster.world.options().base.timing.period;
  cluster.world.run_until(cluster.world.now() + from_seconds(periods * seconds(period)));
  expect_known(cluster.world);
}

TEST_CASE("A fleet that has finished is known with its extremes") {
  const optim::Options training = reference_training(0.1);
  sim::Options options = reference_world(16, topology::Kind::random_regular, training);
  options.base.expect = 16;
  options.base.goal.rounds = 60;
  options.network.delay = 2ms;
  options.network.loss = 0.2;
  Cluster cluster(options, between_rounds(training));
  cluster.start_all();
  // Two epochs of the extremes after the last round.
  cluster.world.run_until(Time(60s));
  expect_known(cluster.world);
  const Truth truth = truth_of(cluster.world);
  for (std::size_t node = 0; node < 16; ++node) {
    CAPTURE(node);
    const gossip::Status status = cluster.world.status(node);
    REQUIRE(spread(status, Quantity::loss)->least);
    CHECK(*spread(status, Quantity::loss)->least == within(1e-6, truth.least));
    CHECK(*spread(status, Quantity::loss)->most == within(1e-6, truth.most));
    CHECK(spread(status, Quantity::round)->mean == within(1e-3, 60));
    CHECK(*spread(status, Quantity::round)->most == 60);
    const auto rate = spread(status, Quantity::sample_rate);
    CHECK((!rate || rate->mean < 1));
    CHECK(status.fleet.extremes_age < 20s);
  }
}

// Steps so small that the models still move by more than 1e-3 of themselves in a round at the end.
// All nodes have the same data, so that after any rounds that all were in they have one model.
struct Equals {
  Equals(std::size_t nodes, std::size_t founders, topology::Kind kind, Duration step, double loss)
      : training(reference_training(0.002)),
        cluster(options(nodes, founders, kind, step, loss), [&](std::size_t) {
          return optim::make_trainer<double>(training, reference_objective({}, 0), 0,
                                             [] { return Time{}; });
        }) {
    for (std::size_t node = 0; node < founders; ++node) cluster.world.start(node);
  }
  sim::Options options(std::size_t nodes, std::size_t founders, topology::Kind kind, Duration step,
                       double loss) const {
    sim::Options options = reference_world(nodes, kind, training);
    options.base.expect = founders;
    options.compute = step;
    options.network.delay = 2ms;
    options.network.jitter = 5ms;
    options.network.loss = loss;
    options.seed = 2;  // by 1 a newcomer's requests for a model are lost five times in turn
    return options;
  }
  void run_rounds(double rounds) {
    const double until = rounds_done(cluster) + rounds;
    REQUIRE(cluster.comes_true([&] { return rounds_done(cluster) >= until; }, 300s));
  }
  // In the next rounds.
  void expect_no_distance(double bound) {
    const std::vector<double> before = cluster.world.trainer(0).parameters();
    const double done = rounds_done(cluster);
    for (auto& seen : cluster.progress) seen.clear();
    cluster.world.run_until(cluster.world.now() + 20 * cluster.world.options().compute);
    run_rounds(20);
    double moved = 0, norm = 0;
    const std::vector<double> after = cluster.world.trainer(0).parameters();
    for (std::size_t k = 0; k < after.size(); ++k)
      moved += std::pow(after[k] - before[k], 2), norm += after[k] * after[k];
    CHECK(std::sqrt(moved / norm) > 1e-3 * (rounds_done(cluster) - done));
    for (const std::size_t node : cluster.world.running()) {
      CAPTURE(node);
      REQUIRE_FALSE(cluster.progress[node].empty());
      double most = 0;
      for (const Seen& seen : cluster.progress[node])
        most = std::max(most, seen.progress.distance.value_or(1));
      CHECK(most < bound);
      CHECK(cluster.world.status(node).fleet.distance.value_or(1) < bound);
    }
  }

  optim::Options training;
  Cluster cluster;
};

TEST_CASE("Models that are equal in each round have no distance however fast they move") {
  for (const double loss : {0.0, 0.2})
    // Estimates travel alone in rounds of 3 s.
    for (const Duration step : {Duration(10ms), Duration(3s)}) {
      CAPTURE(loss);
      CAPTURE(seconds(step));
      Equals equals(4, 4, topology::Kind::complete, step, loss);
      equals.run_rounds(40);
      equals.expect_no_distance(1e-5);
    }
}

// A newcomer's first model is some rounds old, and a distance until it has mixed.
TEST_CASE("Models that are equal have no distance three mixing times after joins and a crash") {
  for (const double loss : all_or_first(1, {0.2, 0.0})) {
    CAPTURE(loss);
    Equals equals(18, 16, topology::Kind::random_regular, 10ms, loss);
    equals.run_rounds(40 * gossip::FleetMeans::kSmallVectors);
    equals.expect_no_distance(1e-5);
    sim::World& world = equals.cluster.world;
    world.start(16);
    world.start(17);
    world.crash(5);
    // An edge may open late where hellos are lost.
    const auto are_linked = [&] {
      return equals.cluster.all_agree() && std::ranges::all_of(world.running(), [&](auto node) {
               const gossip::Status status = world.status(node);
               return status.topology.degree == status.edges.size() &&
                      std::ranges::all_of(status.edges, [](const gossip::EdgeStatus& edge) {
                        return edge.state == gossip::EdgeState::active;
                      });
             });
    };
    REQUIRE(equals.cluster.comes_true(are_linked, 20s));
    equals.run_rounds(3 * estimate_rounds(world));
    equals.expect_no_distance(1e-3);
  }
}

TEST_CASE("The distance of models that differ is known while they move") {
  const optim::Options training = reference_training(0.002);
  sim::Options options = reference_world(16, topology::Kind::random_regular, training);
  options.base.expect = 16;
  Cluster cluster(options, between_rounds(training));
  cluster.start_all();
  REQUIRE(cluster.comes_true([&] { return cluster.round(0) >= 200; }, 20s));
  REQUIRE(cluster.comes_true([&] { return cluster.round_spread() == 0; }, 1s));
  const Truth truth = truth_of(cluster.world);
  for (const std::size_t node : cluster.world.running()) {
    CAPTURE(node);
    const auto distance = cluster.world.status(node).fleet.distance;
    REQUIRE(distance);
    CHECK(*distance == within(0.15, truth.distance));
  }
}

// A round waits for a lost vector, so that loss costs time and no mixing.
TEST_CASE("The measured mixing rate is what the graph promises whatever is lost") {
  struct Case {
    const char* algorithm;
    double loss;
  };
  for (const auto& [algorithm, loss] : all_or_first<Case>(1, {{"dpsgd", 0.3}, {"ed", 0.0}})) {
    CAPTURE(loss);
    optim::Options training = reference_training(0.1);
    training.algorithm = optim::algorithm_named(algorithm);
    sim::Options options = reference_world(8, topology::Kind::ring, training);
    options.base.expect = 8;
    options.network.loss = loss;
    Cluster cluster(options, training);
    cluster.start_all();
    REQUIRE(cluster.comes_true([&] { return cluster.round(0) > 530; }, 120s));
    const double expected = topology::second_modulus(*cluster.world.status(0).topology.graph(),
                                                     training.algorithm->needs.mixing_share);
    for (std::size_t node = 0; node < 8; ++node) {
      const auto rate = cluster.world.status(node).mixing_rate;
      REQUIRE(rate);
      CHECK(*rate == within(0.02, expected));
    }
  }
}

// Its neighbours' averages lack a vector that never comes.
TEST_CASE("A paused node shows in the mixing rate of the others") {
  const optim::Options training = reference_training(0.1);
  sim::Options options = reference_world(8, topology::Kind::ring, training);
  options.base.expect = 8;
  Cluster cluster(options, training);
  cluster.start_all();
  REQUIRE(cluster.comes_true([&] { return cluster.round(0) > 30; }, 20s));
  const double expected = topology::second_modulus(*cluster.world.status(0).topology.graph());
  cluster.world.tell(4, gossip::PauseCommand{});
  REQUIRE(cluster.comes_true([&] { return cluster.round(0) > 530; }, 120s));
  // What is left is a path of seven.
  for (const std::size_t node : {0, 2, 6}) {
    const auto rate = cluster.world.status(node).mixing_rate;
    REQUIRE(rate);
    CHECK(*rate > expected + 0.05);
    CHECK(*rate < 1);
  }
}
