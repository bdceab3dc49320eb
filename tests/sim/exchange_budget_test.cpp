// The nodes choose how many local steps a round has and how vectors are encoded: as few steps and
// as long vectors as keep each within its share, the same on all, whatever the link does.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "tests/lengths.h"
#include "tests/sim/cluster.h"

using namespace starling;
using namespace starling::test;

namespace {

constexpr double kShare = 0.1;
constexpr double kStep_s = 0.01;
constexpr double kRestOfMessage = 300;  // bytes beside a vector, and of what is sent in between
const ReferenceShape kBroad{.n = 4, .d = full_or(1500U, 800U), .m = 4};

Cluster choosing(const ReferenceShape& shape, topology::Kind kind, const char* algorithm,
                 double rate, const sim::NetworkOptions& network, double straggler = 1,
                 bool chooses_encoding = false, std::optional<std::size_t> steps = {}) {
  optim::Options training = reference_training(rate);
  training.algorithm = optim::algorithm_named(algorithm);
  training.local_steps = {.fixed = steps, .exchange_share = kShare};
  training.codec.coding.is_chosen = chooses_encoding;
  sim::Options options = reference_world(shape.n, kind, training);
  options.base.expect = shape.n;
  options.network = network;
  options.straggler = straggler;
  return {options, reference_trainers(training, shape)};
}

Cluster broad_ring(const sim::NetworkOptions& network) {
  return choosing(kBroad, topology::Kind::ring, "dpsgd", 0.001, network);
}

// Local steps of the last round of each node.
std::set<std::size_t> steps_of_all(const Cluster& cluster) {
  std::set<std::size_t> steps;
  for (const std::size_t node : cluster.world.running())
    steps.insert(cluster.world.status(node).run.local_steps);
  return steps;
}

std::set<std::string> encodings_of_all(const Cluster& cluster) {
  std::set<std::string> encodings;
  for (const std::size_t node : cluster.world.running())
    encodings.insert(cluster.world.status(node).run.codec.chosen);
  return encodings;
}

// Of a round of a ring: a node sends two vectors, one after the other.
double exchange_s(double bandwidth) {
  return 0.001 + 2 * 8 * static_cast<double>(kBroad.d) / bandwidth;
}

double needed(double exchange_s) {
  return std::max(1.0, exchange_s * (1 - kShare) / (kShare * kStep_s));
}

// All take the same number, and within a factor of two of what is needed.
void expect_steps(const Cluster& cluster, double need) {
  const std::set<std::size_t> steps = steps_of_all(cluster);
  CAPTURE(need);
  CAPTURE(*steps.begin());
  CHECK(steps.size() == 1);
  CHECK(static_cast<double>(*steps.begin()) <= 2 * need);
  CHECK(static_cast<double>(*steps.begin()) >= need / 2);
}

}  // namespace

TEST_CASE("All nodes take as few local steps as keep the link within its share of their time") {
  for (const double bandwidth : all_or_first<double>(1, {1e6, 1e7, 1e5, 1e8})) {
    CAPTURE(bandwidth);
    Cluster cluster = broad_ring({.bandwidth = bandwidth});
    cluster.start_all();
    cluster.world.run_until(Time(70s));
    expect_steps(cluster, needed(exchange_s(bandwidth)));
    const gossip::Status before = cluster.world.status(0);
    cluster.world.run_until(Time(100s));
    const gossip::Status after = cluster.world.status(0);
    expect_steps(cluster, needed(exchange_s(bandwidth)));
    CHECK(seconds(after.network_wait - before.network_wait) <= 1.25 * kShare * 30);
    CHECK(after.run.local_steps_reason.find("as the nodes wish") != std::string::npos);
  }
}

TEST_CASE("Local steps follow a link that gets worse and better again") {
  Cluster cluster = broad_ring({});
  cluster.start_all();
  cluster.world.run_until(Time(20s));
  expect_steps(cluster, 1);
  for (const auto& [from, to] : {std::pair{1, 2}, std::pair{2, 1}})
    cluster.world.network().limit(static_cast<std::size_t>(from), static_cast<std::size_t>(to),
                                  1e6);
  cluster.world.run_until(Time(80s));
  // One vector at a time crosses this link; nodes that have no part in it follow all the same.
  expect_steps(cluster, needed(0.001 + 8 * static_cast<double>(kBroad.d) / 1e6));
  cluster.world.network().heal();
  cluster.world.run_until(Time(140s));
  expect_steps(cluster, 1);
}

TEST_CASE("A straggler is no slow link") {
  Cluster cluster = choosing(kBroad, topology::Kind::ring, "dpsgd", 0.001, {}, 20);
  cluster.start_all();
  cluster.world.run_until(Time(60s));
  expect_steps(cluster, 1);
}

TEST_CASE("Lost messages do not make the nodes take ever more local steps") {
  for (const double delay_s : all_or_first<double>(1, {0.02, 0.001})) {
    CAPTURE(delay_s);
    Cluster cluster = choosing({}, topology::Kind::torus, "ed", 0.1,
                               {.delay = from_seconds(delay_s), .loss = 0.3});
    cluster.start_all();
    for (int second = 60; second <= full_or(120, 60); second += 30) {
      cluster.world.run_until(Time(second * 1s));
      for (const std::size_t steps : steps_of_all(cluster))
        CHECK(static_cast<double>(steps) <= 2 * needed(delay_s));
    }
  }
}

TEST_CASE("A newcomer takes as many local steps as the others within two seconds") {
  Cluster cluster = broad_ring({.bandwidth = 1e6});
  for (std::size_t node = 0; node < 3; ++node) cluster.world.start(node);
  cluster.world.run_until(Time(60s));
  const std::set<std::size_t> before = steps_of_all(cluster);
  REQUIRE(before.size() == 1);
  REQUIRE(*before.begin() > 8);
  cluster.world.start(3);
  const auto trains = [&] { return cluster.world.status(3).run.steps > 0; };
  REQUIRE(cluster.comes_true(trains, 20s));
  // It knows their wish from the first ping on.
  const auto follows = [&] { return cluster.world.status(3).run.local_steps == *before.begin(); };
  CHECK(cluster.comes_true(follows, 2s));
  CHECK(steps_of_all(cluster) == before);
}

TEST_CASE("Exact algorithms stay exact while the number of local steps changes") {
  for (const char* algorithm : {"ed", "gt"}) {
    CAPTURE(std::string(algorithm));
    Cluster cluster = choosing({}, topology::Kind::torus, algorithm, .1, {.delay = 1ms});
    cluster.start_all();
    for (const Duration delay : {10ms, 1ms, 20ms}) {
      cluster.world.run_until(cluster.world.now() + full_or(20s, 3s));
      cluster.world.network().options().delay = delay;
    }
    if (!tries_full()) continue;
    cluster.world.run_until(cluster.world.now() + 50s);
    expect_steps(cluster, needed(0.02));
    CHECK(cluster.error() < 1e-10);
    for (const sim::Violation& violation : cluster.checker.violations())
      FAIL_CHECK(sim::to_text(violation, cluster.world.options().seed));
  }
}

TEST_CASE("All nodes shorten their vectors as the link asks") {
  struct Row {
    double transfer_s;  // of a vector that is not shortened, to both neighbours
    const char* encoding;
  };
  // Ten steps of 10 ms leave 11 ms; bf16 is a quarter of f64.
  for (const auto& [transfer_s, encoding] : all_or_first<Row>(
           2, {{.055, "i8"}, {.005, "f64"}, {.025, "bf16"}, {.12, "i4"}, {1, "i4"}})) {
    CAPTURE(transfer_s);
    const double bandwidth = 2 * 8 * static_cast<double>(kBroad.d) / transfer_s;
    Cluster cluster = choosing(kBroad, topology::Kind::ring, "dpsgd", 0.001,
                               {.bandwidth = bandwidth}, 1, true, 10);
    cluster.start_all();
    cluster.world.run_until(Time(60s));
    CHECK(encodings_of_all(cluster) == std::set<std::string>{encoding});
    CHECK(steps_of_all(cluster) == std::set<std::size_t>{10});
  }
}

TEST_CASE("A thin link shortens the vectors that cross it and no others") {
  for (const char* algorithm : all_or_first<const char*>(1, {"ed", "gt"})) {
    CAPTURE(std::string(algorithm));
    Cluster cluster =
        choosing({.n = 8, .d = 150, .m = 300}, topology::Kind::ring, algorithm, .2, {}, 1, true, 1);
    // Nodes 0 to 3 are one site and 4 to 7 another; a vector takes 12 ms between them.
    for (const auto& [from, to] : {std::pair{0, 7}, std::pair{7, 0}, {3, 4}, {4, 3}})
      cluster.world.network().limit(static_cast<std::size_t>(from), static_cast<std::size_t>(to),
                                    1e5);
    cluster.start_all();
    cluster.world.run_until(Time(full_or(100s, 10s)));
    for (const std::size_t node : cluster.world.running())
      for (const gossip::EdgeStatus& edge : cluster.world.status(node).edges) {
        const bool is_first_site = node < 4, leads_to_first = edge.name < sim::name_of(4);
        CAPTURE(node);
        CAPTURE(edge.name);
        CHECK(edge.encoding == (is_first_site == leads_to_first ? "f64" : "i4"));
      }
    CHECK(cluster.world.status(0).run.codec.chosen == "f64, i4");
    CHECK(cluster.world.status(1).run.codec.chosen == "f64");
    if (tries_full()) CHECK(cluster.error() < 1e-9);
    for (const sim::Violation& violation : cluster.checker.violations())
      FAIL_CHECK(sim::to_text(violation, cluster.world.options().seed));
  }
}

TEST_CASE("Where both are chosen the vectors are short and the steps few") {
  const double bandwidth = 1e6;
  Cluster cluster =
      choosing(kBroad, topology::Kind::ring, "dpsgd", 0.001, {.bandwidth = bandwidth}, 1, true);
  cluster.start_all();
  cluster.world.run_until(Time(60s));
  CHECK(encodings_of_all(cluster) == std::set<std::string>{"i4"});
  const double vector = 0.52 * static_cast<double>(kBroad.d) + kRestOfMessage;
  expect_steps(cluster, needed(0.001 + 2 * vector / bandwidth));
}

TEST_CASE("Exact algorithms stay exact while the encoding of their vectors changes") {
  for (const char* algorithm : all_or_first<const char*>(1, {"ed", "gt"})) {
    CAPTURE(std::string(algorithm));
    Cluster cluster =
        choosing({.n = 8, .d = 150, .m = 300}, topology::Kind::ring, algorithm, .2, {}, 1, true, 1);
    cluster.start_all();
    std::set<std::string> seen;
    for (const double bandwidth : {1e6, 2e5, 4e5, 1e7, 1e5}) {
      cluster.world.network().options().bandwidth = bandwidth;
      for (int second = full_or(20, 6); second > 0; --second) {
        cluster.world.run_until(cluster.world.now() + 1s);
        seen.merge(encodings_of_all(cluster));
      }
    }
    CHECK(seen.size() >= 3);
    CHECK(cluster.error() < 1e-9);
    for (const sim::Violation& violation : cluster.checker.violations())
      FAIL_CHECK(sim::to_text(violation, cluster.world.options().seed));
  }
}
