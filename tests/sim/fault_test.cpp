// What happens to the others when something happens to one.
#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <optional>

#include "optim/saved_state.h"
#include "tests/lengths.h"
#include "tests/sim/cluster.h"

using namespace starling;
using namespace starling::test;

namespace {

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return std::sqrt(sum);
}

std::vector<double> numbers(const Payload& bytes) {
  std::vector<double> values(10);
  bytes.copy_to(0, std::as_writable_bytes(std::span(values)));
  return values;
}

void expect_sound(Cluster& cluster) {
  cluster.checker.expect_finite();
  cluster.checker.expect_agreement();
  for (const sim::Violation& violation : cluster.checker.violations())
    FAIL_CHECK(sim::to_text(violation, cluster.world.options().seed));
}

}  // namespace

TEST_CASE("A node without anybody trains alone") {
  Cluster cluster = reference_cluster(1, 0);
  cluster.start_all();
  cluster.world.run_until(Time(5s));
  CHECK(cluster.round(0) > 400);
  expect_sound(cluster);
}

TEST_CASE("A node whose seed is down waits for it and takes no step") {
  Cluster cluster = reference_cluster(2, 0);
  cluster.world.start(1);
  cluster.world.run_until(Time(30s));
  CHECK(cluster.world.status(1).state == gossip::State::joining);
  CHECK(cluster.world.status(1).run.steps == 0);
  cluster.world.start(0);
  CHECK(cluster.comes_true([&] { return cluster.round(1) > 100; }, 8s));
  CHECK(cluster.round_spread() <= 1);
  expect_sound(cluster);
}

TEST_CASE("A node whose seed is down and that may train alone meets it later") {
  sim::Options options = reference_world(2, topology::Kind::ring, reference_training(0.1));
  options.base.alone = gossip::Alone::train;
  Cluster cluster(options, reference_training(0.1));
  cluster.world.start(1);
  cluster.world.run_until(Time(4s));
  CHECK(cluster.round(1) > 100);
  cluster.world.start(0);
  // A seed that is down is asked at least every five seconds.
  CHECK(cluster.comes_true([&] { return cluster.all_agree(); }, 6s));
  // It knows nobody either, so it began alone, and catches up when the edge opens.
  cluster.world.run_until(cluster.world.now() + 2s);
  CHECK(cluster.round_spread() <= 1);
  cluster.world.run_until(Time(12s));
  CHECK(cluster.round(0) > 400);
  CHECK(cluster.round_spread() <= 1);
  expect_sound(cluster);
}

TEST_CASE("Two nodes train together") {
  Cluster cluster = reference_cluster(2, 2);
  cluster.start_all();
  cluster.world.run_until(Time(5s));
  CHECK(cluster.round(0) > 300);
  CHECK(cluster.round_spread() <= 1);
  const auto& world = cluster.world;
  CHECK(distance(world.trainer(0).parameters(), world.trainer(1).parameters()) < 0.2);
  expect_sound(cluster);
}

TEST_CASE("A newcomer takes its first step with the momentum of its donor") {
  optim::Options training = reference_training(0.01);
  training.local_optimizer = optim::LocalOptimizerKind::momentum;
  Cluster cluster(reference_world(2, topology::Kind::ring, training), training);
  std::optional<optim::SavedState> adopted;
  // Its first pair is averaged before its first step.
  std::vector<double> x, first_step;
  cluster.world.observe([&](std::size_t node, const gossip::Output& output) {
    if (node != 1) return;
    const auto* train = std::get_if<gossip::Train>(&output);
    if (train && train->job.adopt) adopted = *optim::decode_saved_state(*train->job.adopt);
    if (train && train->job.local && x.empty()) {
      REQUIRE(train->job.mix.size() == 1);
      const optim::MixTerm& pair = train->job.mix.front();
      const std::vector<double> own = numbers(pair.own), theirs = numbers(pair.theirs);
      x = cluster.world.trainer(1).parameters();
      for (std::size_t k = 0; k < x.size(); ++k) x[k] += pair.weight * (theirs[k] - own[k]);
    } else if (std::holds_alternative<gossip::Progress>(output) && !x.empty() &&
               first_step.empty()) {
      first_step = cluster.world.trainer(1).parameters();
    }
  });
  cluster.world.start(0);
  cluster.world.run_until(Time(3s));
  cluster.world.start(1);
  REQUIRE(cluster.comes_true([&] { return !first_step.empty(); }, 3s));
  REQUIRE(adopted.has_value());
  REQUIRE(adopted->state.size() == 1);
  CHECK(adopted->state[0].name == "learner.optimizer.m");
  const std::vector<double> ms = numbers(adopted->state[0].bytes);
  std::vector<double> g(10);
  reference_objective({}, 1)->loss_and_gradient(x, {}, g);
  double momentum = 0;
  for (std::size_t k = 0; k < g.size(); ++k) {
    momentum += ms[k] * ms[k];
    CHECK(first_step[k] == doctest::Approx(x[k] - 0.01 * (0.9 * ms[k] + g[k])));
  }
  CHECK(momentum > 0);
  expect_sound(cluster);
}

TEST_CASE("A newcomer whose donors die asks another and starts in time") {
  Cluster cluster = reference_cluster(9, 8);
  for (std::size_t node = 0; node < 8; ++node) cluster.world.start(node);
  cluster.world.run_until(Time(5s));
  // Whoever is asked first is gone at that moment.
  int asked = 0;
  cluster.world.observe([&](std::size_t node, const gossip::Output& output) {
    const auto* send = std::get_if<gossip::Send>(&output);
    if (node != 8 || !send || !std::holds_alternative<gossip::SnapshotRequest>(send->message.body))
      return;
    ++asked;
    for (std::size_t k = 0; k < 8 && asked == 1; ++k)
      if (node_id(sim::name_of(k)) == send->to)
        cluster.world.at(cluster.world.now(), [&cluster, k] { cluster.world.crash(k); });
  });
  gossip::Options options = sim::node_options(cluster.world.options(), 8);
  options.expect = 0;
  options.seeds.push_back(sim::node_options(cluster.world.options(), 1).control);
  cluster.world.start(8, options);
  CHECK(cluster.comes_true([&] { return cluster.progress[8].size() > 3; }, 2s));
  CHECK(asked == 2);
  CHECK(cluster.progress[8].front().progress.round > 100);
}

TEST_CASE("A joiner adopts a model and holds nobody up") {
  Cluster cluster = reference_cluster(9, 8);
  for (std::size_t node = 0; node < 8; ++node) cluster.world.start(node);
  cluster.world.run_until(Time(5s));
  const Time joined = cluster.world.now();
  const std::uint64_t round = cluster.round(0);
  CHECK(round > 100);
  Duration patience{};
  for (const gossip::EdgeStatus& edge : cluster.world.status(0).edges)
    patience = std::max(patience, from_seconds(edge.patience_s));

  gossip::Options options = sim::node_options(cluster.world.options(), 8);
  options.expect = 0;
  cluster.world.start(8, options);
  CHECK(cluster.comes_true([&] { return cluster.all_agree(); }, 3s));
  CHECK(cluster.comes_true([&] { return cluster.progress[8].size() > 3; }, 3s));
  const Seen& first = cluster.progress[8].front();
  CHECK(first.progress.round >= round);
  // Its model is that of a neighbour: close to the optimum where the initial one is far away.
  CHECK(*cluster.progress[0].front().progress.distance_to_optimum > 1.5);
  CHECK(*first.progress.distance_to_optimum < 1.0);
  cluster.world.run_until(joined + 10s);
  CHECK(cluster.round_spread() <= 2);
  for (std::size_t node = 0; node < 8; ++node) {
    CAPTURE(node);
    CHECK(seconds(cluster.longest_round(node, joined)) < seconds(patience));
  }
  expect_sound(cluster);
}

TEST_CASE("A node that crashes is listed as dead and the rounds go on") {
  Cluster cluster = reference_cluster(8, 8);
  cluster.start_all();
  cluster.world.run_until(Time(5s));
  const Time crashed = cluster.world.now();
  const std::uint64_t round = cluster.round(0);
  cluster.world.crash(3);
  CHECK(cluster.comes_true([&] { return cluster.all_agree(); }, 8s));
  for (std::size_t node : cluster.world.running()) {
    CAPTURE(node);
    CHECK(cluster.liveness(node, 3) != gossip::Liveness::left);
    CHECK(seconds(cluster.longest_round(node, crashed)) < 0.5);
  }
  CHECK(cluster.comes_true([&] { return cluster.liveness(0, 3) == gossip::Liveness::dead; }, 5s));
  // At half of the usual pace at least.
  const double elapsed = seconds(cluster.world.now() - crashed);
  CHECK(static_cast<double>(cluster.round(0) - round) > elapsed / 0.022);
  cluster.world.run_until(cluster.world.now() + full_or(5s, 2s));
  CHECK(cluster.round_spread() <= 2);
  expect_sound(cluster);
}

TEST_CASE("A node that starts again comes back with the model of the others") {
  Cluster cluster = reference_cluster(8, 8);
  cluster.start_all();
  cluster.world.run_until(Time(5s));
  cluster.world.crash(3);
  cluster.world.run_until(Time(full_or(15s, 12s)));
  const std::uint64_t round = cluster.round(0);
  cluster.progress[3].clear();
  gossip::Options options = sim::node_options(cluster.world.options(), 3);
  options.expect = 0;
  cluster.world.start(3, options);
  CHECK(cluster.comes_true([&] { return cluster.all_agree(); }, 3s));
  CHECK(cluster.comes_true([&] { return cluster.round(3) > round; }, 5s));
  CHECK(cluster.progress[3].front().progress.round >= round);
  cluster.world.run_until(cluster.world.now() + full_or(5s, 2s));
  CHECK(cluster.round_spread() <= 2);
  expect_sound(cluster);
}

TEST_CASE("A node that starts again before it was missed is taken for the same one") {
  Cluster cluster = reference_cluster(8, 8);
  cluster.start_all();
  cluster.world.run_until(Time(5s));
  cluster.world.crash(3);
  cluster.world.run_until(Time(6s));
  gossip::Options options = sim::node_options(cluster.world.options(), 3);
  options.expect = 0;
  cluster.world.start(3, options);
  cluster.world.run_until(Time(12s));
  CHECK(cluster.round_spread() <= 2);
  for (const gossip::EdgeStatus& edge : cluster.world.status(3).edges)
    CHECK(edge.state == gossip::EdgeState::active);
  expect_sound(cluster);
}

TEST_CASE("A node that leaves is listed as left at once") {
  Cluster cluster = reference_cluster(8, 8);
  cluster.start_all();
  cluster.world.run_until(Time(5s));
  const Time left = cluster.world.now();
  cluster.world.tell(3, gossip::LeaveCommand{});
  CHECK(cluster.comes_true([&] { return cluster.all_agree(); }, 100ms));
  cluster.world.run_until(left + full_or(20s, 2s));
  for (std::size_t node : cluster.world.running()) {
    CAPTURE(node);
    CHECK(cluster.liveness(node, 3) == gossip::Liveness::left);
    CHECK(seconds(cluster.longest_round(node, left)) < 0.5);
  }
  CHECK(cluster.round_spread() <= 2);
  expect_sound(cluster);
}

TEST_CASE("A partition heals") {
  Cluster cluster = reference_cluster(16, 16, {}, topology::Kind::torus);
  cluster.start_all();
  cluster.world.run_until(Time(5s));
  const std::vector<std::size_t> group{0, 1, 2, 3, 4};
  cluster.world.network().partition(group, cluster.world.options().nodes);
  cluster.world.machine(7).slowness = 3;  // so that the two sides run apart
  cluster.world.run_until(Time(full_or(25s, 7s)));
  if (tries_full()) {
    CHECK(cluster.liveness(0, 10) == gossip::Liveness::dead);
    CHECK(cluster.liveness(10, 0) == gossip::Liveness::dead);
    CHECK(cluster.round_spread() > 10);
  }

  cluster.world.network().heal();
  cluster.world.machine(7).slowness = 1;
  CHECK(cluster.comes_true([&] { return cluster.all_agree(); }, 10s));
  cluster.world.run_until(cluster.world.now() + full_or(10s, 2s));
  CHECK(cluster.round_spread() <= 2);
  expect_sound(cluster);
}

TEST_CASE("A link that is cut one way does not stop the rounds") {
  Cluster cluster = reference_cluster(8, 8);
  cluster.start_all();
  cluster.world.run_until(Time(5s));
  const std::uint64_t round = cluster.round(0);
  cluster.world.network().cut(2, 3);
  cluster.world.run_until(Time(15s));
  CHECK(cluster.round(3) > round + 100);
  cluster.world.network().heal();
  cluster.world.run_until(Time(full_or(25s, 18s)));
  CHECK(cluster.round_spread() <= 2);
  expect_sound(cluster);
}

TEST_CASE("A slow node is waited for and nobody is lost") {
  Cluster cluster = reference_cluster(8, 8);
  cluster.start_all();
  cluster.world.machine(5).slowness = 4;
  cluster.world.run_until(Time(full_or(20s, 8s)));
  CHECK(cluster.round_spread() <= 8);
  for (std::size_t node : cluster.world.running()) CHECK(cluster.round(node) > full_or(300U, 100U));
  expect_sound(cluster);
}

TEST_CASE("Lost and repeated messages leave the floor of D-PSGD that reuses what it heard") {
  for (const double loss : all_or_first<double>(1, {0.1, 0.3})) {
    sim::NetworkOptions network;
    network.loss = loss;
    network.duplicate = 0.1;
    network.jitter = 1ms;
    const optim::Options training = reference_training(0.1);
    sim::Options options = reference_world(16, topology::Kind::ring, training);
    options.base.expect = 16;
    options.base.missing = gossip::Missing::reuse;
    options.network = network;
    Cluster cluster(options, training);
    cluster.start_all();
    cluster.world.run_until(Time(full_or(150s, 5s)));
    CAPTURE(loss);
    if (tries_full()) {
      CHECK(cluster.round(0) > 500);
      CHECK(cluster.round_spread() < cluster.round(0) / 10);
      CHECK(cluster.error() == doctest::Approx(.44347281).epsilon(.01));
    }
    for (std::size_t node : cluster.world.running())
      for (std::size_t other : cluster.world.running())
        CHECK(cluster.liveness(node, other) != gossip::Liveness::dead);
    for (const sim::Violation& violation : cluster.checker.violations())
      FAIL_CHECK(sim::to_text(violation, cluster.world.options().seed));
  }
}

namespace {

// The mean model after `rounds` of which the first ten learn, and the largest distance to it.
std::pair<std::vector<double>, double> mean_after(std::uint64_t rounds) {
  optim::Options training = reference_training(0.1);
  training.schedule = {.shape = optim::Schedule::Shape::step, .rounds = 10, .factor = 0};
  sim::Options options = reference_world(8, topology::Kind::ring, training);
  options.base.expect = 8;
  options.base.goal.rounds = rounds;
  Cluster cluster(options, training);
  // As the last round left them, before they become one.
  std::vector<std::vector<double>> models(8);
  cluster.world.observe([&](std::size_t node, const gossip::Output& output) {
    const auto* event = std::get_if<gossip::Event>(&output);
    if (event && event->kind == gossip::Event::Kind::ending)
      models[node] = cluster.world.trainer(node).parameters();
  });
  cluster.start_all();
  cluster.world.run_until(Time(30s));
  std::vector<double> mean(10);
  for (const std::vector<double>& model : models)
    for (std::size_t k = 0; k < mean.size(); ++k) mean[k] += model.at(k) / 8;
  double farthest = 0;
  for (const std::vector<double>& model : models)
    farthest = std::max(farthest, distance(model, mean));
  return {mean, farthest};
}

}  // namespace

TEST_CASE("With learning rate zero the mean stays and all come to it") {
  const auto [before, apart] = mean_after(12);
  const auto [after, together] = mean_after(500);
  CHECK(apart > 0.1);
  CHECK(together < 1e-12);
  CHECK(distance(before, after) < 1e-13);
}

// A chaos phase drawn from the seed, then a healed phase in which all must agree and be in step.
TEST_CASE("After any chaos all agree and train in step") {
  for (std::uint64_t seed = 1; seed <= full_or(6U, 1U); ++seed) {
    CAPTURE(seed);
    constexpr std::size_t kNodes = 10;
    Prng prng(seed);
    sim::NetworkOptions network;
    network.jitter = 5ms;
    network.loss = 0.1 * prng.uniform();
    network.duplicate = 0.1 * prng.uniform();
    network.reorder = prng.uniform();
    Cluster cluster = reference_cluster(kNodes, kNodes, network, topology::Kind::automatic, seed);
    sim::World& world = cluster.world;
    cluster.start_all();
    const auto revive = [&](std::size_t node) {
      gossip::Options options = sim::node_options(world.options(), node);
      options.expect = 0;
      for (std::size_t other = 0; other < kNodes; ++other)
        options.seeds.push_back(sim::node_options(world.options(), other).control);
      cluster.progress[node].clear();
      world.start(node, options);
    };
    while (world.now() < Time(full_or(60s, 10s))) {
      world.run_until(world.now() + from_seconds(prng.uniform(0.1, 4)));
      const std::size_t node = prng.below(kNodes);
      switch (prng.below(6)) {
        case 0:
          if (world.runs(node)) world.crash(node);
          break;
        case 1:
          if (world.runs(node)) world.tell(node, gossip::LeaveCommand{});
          break;
        case 2:
          if (!world.runs(node)) revive(node);
          break;
        case 3: {
          const std::vector<std::size_t> group{node, (node + 1) % kNodes, (node + 3) % kNodes};
          world.network().partition(group, world.options().nodes);
          break;
        }
        case 4:
          world.network().cut(node, prng.below(kNodes));
          break;
        default:
          world.network().heal();
          world.machine(node).slowness = prng.uniform(0.5, 6);
      }
    }
    world.network().heal();
    world.network().options() = {};
    for (std::size_t node = 0; node < kNodes; ++node) {
      world.machine(node).slowness = 1;
      if (!world.runs(node)) revive(node);
    }
    CHECK(cluster.comes_true([&] { return cluster.all_agree(); }, 30s));
    world.run_until(world.now() + full_or(10s, 5s));
    CHECK(cluster.round_spread() <= 2);
    for (std::size_t node = 0; node < kNodes; ++node)
      for (const gossip::EdgeStatus& edge : world.status(node).edges)
        CHECK(edge.state == gossip::EdgeState::active);
    expect_sound(cluster);
  }
}
