// Thin and lossy links: every vector is sent once, a round takes little longer than its vectors,
// and nobody runs ahead of the others.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tests/lengths.h"
#include "tests/sim/cluster.h"

using namespace starling;
using namespace starling::test;

namespace {

const ReferenceShape kWide{.n = 4, .d = full_or(1500U, 800U), .m = 4};
const double kVectorBytes = 8 * static_cast<double>(kWide.d);

Cluster wide_ring(double bandwidth,
                  const optim::AlgorithmRow* algorithm = optim::algorithm_named("dpsgd")) {
  optim::Options training = reference_training(0.001);
  training.algorithm = algorithm;
  sim::Options options = reference_world(kWide.n, topology::Kind::ring, training);
  options.base.expect = kWide.n;
  options.network.bandwidth = bandwidth;
  return {options, reference_trainers(training, kWide)};
}

std::uint64_t sent_bytes(const Cluster& cluster) {
  std::uint64_t bytes = 0;
  for (const std::size_t node : cluster.world.running())
    bytes += cluster.world.status(node).sent_bytes;
  return bytes;
}

std::uint64_t rounds(const Cluster& cluster) {
  std::uint64_t rounds = 0;
  for (const std::size_t node : cluster.world.running()) rounds += cluster.round(node);
  return rounds;
}

std::uint64_t repeated(const Cluster& cluster) {
  std::uint64_t repeated = 0;
  for (const std::size_t node : cluster.world.running())
    for (const gossip::EdgeStatus& edge : cluster.world.status(node).edges)
      repeated += edge.repeated_bytes + edge.rejected.contains("repeated");
  return repeated;
}

}  // namespace

TEST_CASE("Without loss every vector is sent once however thin the link") {
  for (const double bandwidth : all_or_first<double>(1, {1e5, 0., 1e8, 1e7, 1e6})) {
    CAPTURE(bandwidth);
    Cluster cluster = wide_ring(bandwidth);
    cluster.start_all();
    cluster.world.run_until(Time(30s));
    // One more vector may be under way.
    const double vectors = 2.0 * static_cast<double>(rounds(cluster) + kWide.n);
    CHECK(static_cast<double>(sent_bytes(cluster)) <= 1.02 * vectors * kVectorBytes);
    CHECK(repeated(cluster) == 0);
  }
}

TEST_CASE("A round takes little longer than computing and sending one after the other") {
  for (const double bandwidth : all_or_first<double>(1, {1e5, 1e7, 1e6})) {
    CAPTURE(bandwidth);
    Cluster cluster = wide_ring(bandwidth);
    cluster.start_all();
    cluster.world.run_until(Time(20s));
    const std::uint64_t begin = cluster.round(0);
    cluster.world.run_until(Time(60s));
    const double round_s = 40 / static_cast<double>(cluster.round(0) - begin);
    CHECK(round_s <= 1.15 * (0.01 + 2 * kVectorBytes / bandwidth));
  }
}

TEST_CASE("Pipelined D-PSGD hides the smaller of computing and sending") {
  Cluster cluster = wide_ring(2 * kVectorBytes / 0.01, optim::algorithm_named("dpsgd-pipelined"));
  cluster.start_all();
  const std::int64_t measured_s = full_or(20, 2);
  cluster.world.run_until(Time(measured_s * 1s));
  const std::uint64_t begin = cluster.round(0);
  cluster.world.run_until(Time(2 * measured_s * 1s));
  CHECK(static_cast<double>(measured_s) / static_cast<double>(cluster.round(0) - begin) <=
        1.25 * 0.01);
}

TEST_CASE("A link that falls to a hundredth and returns costs time and no vector twice") {
  Cluster cluster = wide_ring(0);
  cluster.start_all();
  cluster.world.run_until(Time(full_or(10s, 1s)));
  for (const auto& [from, to] : {std::pair{1, 2}, std::pair{2, 1}})
    cluster.world.network().limit(static_cast<std::size_t>(from), static_cast<std::size_t>(to),
                                  1e5);
  cluster.world.run_until(Time(40s));
  bool says_so = false;
  for (const std::string& reason : cluster.world.status(1).reasons)
    says_so = says_so || reason.starts_with("waits for the network");
  CHECK(says_so);
  cluster.world.network().heal();
  cluster.world.run_until(Time(42s));
  const std::uint64_t healed = cluster.round(0);
  cluster.world.run_until(Time(42s + full_or(10s, 1s)));
  CHECK(cluster.round(0) > healed + full_or(700U, 70U));
  CHECK(repeated(cluster) == 0);
  for (const std::string& event : cluster.events) CHECK(event.find("closed") == std::string::npos);
}

TEST_CASE("Packets that TCP loses hold rounds up and nobody runs free") {
  double without = 0;
  for (const double loss : all_or_first<double>(2, {0., .1, .02})) {
    CAPTURE(loss);
    const optim::Options training = reference_training(0.1);
    sim::Options options = reference_world(8, topology::Kind::ring, training);
    options.base.expect = 8;
    options.network.packet_loss = loss;
    Cluster cluster(options, training);
    cluster.start_all();
    std::uint64_t apart = 0;
    for (int second = full_or(30, 10); second <= full_or(120, 10); second += 10) {
      cluster.world.run_until(Time(second * 1s));
      apart = std::max(apart, cluster.round_spread());
    }
    CHECK(apart <= 8);
    CHECK(repeated(cluster) == 0);
    const double distance = sim::consensus_distance(cluster.world);
    if (loss == 0) without = distance;
    if (tries_full()) CHECK(distance <= 3 * without);
  }
}
