// Settings by which edges carry something else (gossip/node/renewal.h) change while nodes run.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "tests/lengths.h"
#include "tests/sim/cluster.h"
#include "tests/sim/legal_ways.h"
#include "tests/sim/live_terms.h"
#include "topology/options.h"

using namespace starling;
using namespace starling::test;

namespace {

std::vector<Term> terms_of(const LegalWay& way) {
  return {{"optim.algorithm", std::string(way.algorithm->name)},
          {"optim.outer", std::string(optim::name(way.outer))},
          {"exchange.schedule", std::string(way.schedule->name)},
          {"exchange.quorum", fmt::format("{}", way.quorum)},
          {"exchange.missing", std::string(gossip::name(way.missing))},
          {"topology.kind", std::string(topology::to_string(way.kind))},
          {"topology.sequence", topology::to_string(way.sequence)}};
}

// The largest distance of a node from the optimum of the first nodes.
double distance_from_optimum(const sim::World& world, std::size_t nodes) {
  std::vector<std::size_t> with(nodes);
  for (std::size_t k = 0; k < nodes; ++k) with[k] = k;
  const std::vector<double> optimum = reference_optimum({.n = world.options().nodes}, with);
  double most = 0;
  for (const std::size_t node : world.running())
    most = std::max(most, largest_difference({world.trainer(node).parameters()}, {optimum}));
  return most;
}

std::vector<double> mean_of(const sim::World& world) {
  std::vector<double> mean;
  for (const std::size_t node : world.running()) {
    const std::vector<double> model = world.trainer(node).parameters();
    mean.resize(model.size());
    for (std::size_t k = 0; k < model.size(); ++k)
      mean[k] += model[k] / static_cast<double>(world.running().size());
  }
  return mean;
}

void expect_lawful(const Cluster& cluster) {
  for (const std::size_t node : cluster.world.running()) {
    const gossip::Status status = cluster.world.status(node);
    CHECK(status.settings.problem.empty());
    CHECK(status.run.problem.value_or("").empty());
    for (const std::string& warning : status.warnings) FAIL_CHECK(warning);
  }
  for (const sim::Violation& violation : cluster.checker.violations())
    FAIL_CHECK(sim::to_text(violation, 1));
}

// Five nodes begin by the one way and change to the other. Returns their distance from the optimum,
// once it is below `enough` or they had time for it.
double distance_after(const LegalWay& from, const LegalWay& to, double loss, double enough) {
  constexpr std::size_t kNodes = 5;
  const optim::Options training = training_by(from, walk_training(*from.algorithm));
  sim::Options options = world_by(from, training, kNodes, loss);
  options.base.reconfigure = reconfigure_from(options.base, training);
  Cluster cluster(options, training);
  for (std::size_t k = 0; k < kNodes; ++k) {
    gossip::Options node = sim::node_options(options, k);
    node.group = fmt::format("site-{}", k % 2);
    cluster.world.start(k, node);
  }
  cluster.world.run_until(cluster.world.now() + 4s);
  cluster.world.tell(2, gossip::ConfigureCommand{.agreed = terms_of(to)});
  cluster.world.run_until(cluster.world.now() + 12s);
  double distance = distance_from_optimum(cluster.world, kNodes);
  for (int look = 0; look < 60 && distance > enough; ++look) {
    cluster.world.run_until(cluster.world.now() + 3s);
    distance = distance_from_optimum(cluster.world, kNodes);
  }
  expect_lawful(cluster);
  for (const std::size_t node : cluster.world.running()) {
    const gossip::Status status = cluster.world.status(node);
    CHECK(status.algorithm.starts_with(to.algorithm->name));
    CHECK(status.schedule == to.schedule->name);
  }
  return distance;
}

}  // namespace

TEST_CASE("Every way of averaging becomes an exact one and back") {
  const std::vector<LegalWay> ways = legal_ways();
  const auto exact = std::ranges::find(ways, "ed rounds", &LegalWay::name);
  REQUIRE(exact != ways.end());
  for (std::size_t k = 0; k < ways.size(); k += full_or(1U, 40U)) {
    const LegalWay& way = ways[k];
    CAPTURE(way.name);
    CHECK(distance_after(way, *exact, 0, 1e-9) < 1e-9);
    const double close = way.algorithm->is_exact ? 1e-9 : 1;
    CHECK(distance_after(*exact, way, 0, close) < close);
    if (tries_full()) CHECK(distance_after(way, *exact, .3, 1e-6) < 1e-6);
  }
}

TEST_CASE("Codecs and algorithms change among joins and deaths and the end is exact") {
  const std::vector<std::vector<Term>> changes = {
      {{"exchange.codec", "i8"}},
      {{"optim.algorithm", "gt"}, {"topology.kind", "random"}, {"topology.degree", "2"}},
      {{"exchange.codec", "native"}, {"topology.sequence", "matching"}},
      {{"optim.algorithm", "extra"}, {"exchange.codec", "i4"}, {"topology.sequence", "still"}},
      {{"exchange.parts", "3"}, {"optim.algorithm", "ed"}},
      {{"exchange.codec", "auto"}, {"exchange.parts", "1"}},
      {{"optim.algorithm", "admm"}, {"exchange.codec", "native"}},
      {{"optim.algorithm", "ed"}, {"exchange.aggregation", "clip"}},
      {{"exchange.aggregation", "mean"}, {"exchange.schedule", "ssp"}},
      {{"exchange.schedule", "rounds"}, {"exchange.codec", "i8"}}};
  for (const std::uint64_t seed : all_or_first<std::uint64_t>(1, {1, 2, 3})) {
    CAPTURE(seed);
    optim::Options training = reference_training(0.1);
    training.algorithm = optim::algorithm_named("ed");
    sim::Options options = reference_world(8, topology::Kind::ring, training);
    options.seed = seed;
    options.base.expect = 6;
    options.network = {.delay = 2ms, .jitter = 5ms, .loss = .1};
    options.base.checkpoint = {.rounds = 20, .is_kept = true};
    options.base.reconfigure = reconfigure_from(options.base, training);
    Cluster cluster(options, training);
    for (std::size_t node = 0; node < 6; ++node) cluster.world.start(node);
    gossip::Options late = sim::node_options(options, 6);
    late.expect = 0;
    for (std::size_t k = 0; k < changes.size(); ++k) {
      cluster.world.run_until(cluster.world.now() + 5s);
      cluster.world.tell(k % 3, gossip::ConfigureCommand{.agreed = changes[k]});
      if (k == 2) cluster.world.start(6, late);
      if (k == 3) cluster.world.crash(4);
      if (k == 5) cluster.world.start(4);
      if (k == 6) late = sim::node_options(options, 7), late.expect = 0;
      if (k == 6) cluster.world.start(7, late);
      if (k == 7) cluster.world.pause(5, cluster.world.now() + 4s);
    }
    cluster.world.run_until(cluster.world.now() + 120s);
    expect_lawful(cluster);
    CHECK(distance_from_optimum(cluster.world, 8) < 1e-9);
    for (const std::size_t node : cluster.world.running())
      CHECK(cluster.world.status(node).codec == "i8");
  }
}

// The models of nodes that take no steps differ by what they learned before.
TEST_CASE("The mean of the models stays while what edges carry changes") {
  const std::vector<std::vector<Term>> changes = {
      {{"exchange.codec", "i8"}},
      {{"exchange.codec", "native"}, {"topology.sequence", "matching"}},
      {{"optim.algorithm", "ed"}, {"topology.sequence", "still"}},
      {{"optim.algorithm", "dpsgd"}, {"exchange.schedule", "async"}},
      {{"exchange.schedule", "rounds"}, {"exchange.parts", "2"}}};
  for (const std::uint64_t seed : all_or_first<std::uint64_t>(1, {1, 2, 3, 4, 5, 6, 7, 8})) {
    CAPTURE(seed);
    const optim::Options training = reference_training(0.3);
    sim::Options options = reference_world(8, topology::Kind::ring, training);
    options.seed = seed;
    options.base.expect = 8;
    options.network = {.delay = 2ms, .jitter = 5ms, .loss = .1};
    options.base.reconfigure = reconfigure_from(options.base, training);
    Cluster cluster(options, training);
    cluster.start_all();
    cluster.world.run_until(cluster.world.now() + 3s);
    cluster.world.tell(0, gossip::ConfigureCommand{.agreed = {{"optim.learning-rate", "0"}}});
    cluster.world.run_until(cluster.world.now() + 20s);
    const std::vector<double> before = mean_of(cluster.world);
    for (const std::vector<Term>& change : changes) {
      cluster.world.tell(1, gossip::ConfigureCommand{.agreed = change});
      cluster.world.run_until(cluster.world.now() + 20s);
      CHECK(largest_difference({mean_of(cluster.world)}, {before}) < 1e-12);
    }
    expect_lawful(cluster);
  }
}
