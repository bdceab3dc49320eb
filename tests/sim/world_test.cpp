// What a world does to its nodes, and what it counts.
#include <doctest/doctest.h>

#include "tests/sim/cluster.h"

using namespace starling;
using namespace starling::test;

namespace {

std::uint64_t incarnation(Cluster& cluster, std::size_t node) {
  for (const gossip::MemberStatus& member : cluster.world.status(node).members)
    if (member.self) return member.member.incarnation;
  return 0;
}

}  // namespace

TEST_CASE("A paused node handles nothing and then everything that waited") {
  Cluster cluster = reference_cluster(4, 4);
  cluster.start_all();
  cluster.world.run_until(Time(2s));
  cluster.world.pause(1, Time(4s));
  const std::uint64_t round = cluster.round(1);
  const std::uint64_t bytes = cluster.world.status(1).received_bytes;
  cluster.world.run_until(Time(4s) - 1ms);
  CHECK(cluster.round(1) == round);
  CHECK(cluster.world.status(1).received_bytes == bytes);
  CHECK(cluster.world.fault_counts().paused == 1);
  cluster.world.run_until(Time(6s));
  CHECK(cluster.world.status(1).received_bytes > bytes);
  CHECK(cluster.round(1) > round + 50);
  CHECK(cluster.round_spread() <= 2);
}

TEST_CASE("What waits for a paused node is lost when that crashes") {
  Cluster cluster = reference_cluster(4, 4);
  cluster.start_all();
  cluster.world.run_until(Time(2s));
  cluster.world.pause(1, Time(5s));
  cluster.world.run_until(Time(3s));
  cluster.world.crash(1);
  cluster.world.start(1);
  cluster.world.run_until(Time(3s) + 1ms);
  cluster.world.run_until(Time(10s));
  CHECK(cluster.world.repeats(1) == 0);
  CHECK(cluster.all_agree());
}

TEST_CASE("An incarnation grows over a lost and over an older disk") {
  Cluster cluster = reference_cluster(2, 2);
  cluster.start_all();
  CHECK(incarnation(cluster, 1) == 1);
  cluster.world.run_until(Time(2s));
  std::uint64_t before = 1;
  const auto restart = [&] {
    cluster.world.crash(1);
    cluster.world.start(1);
    CHECK(incarnation(cluster, 1) > before);
    before = incarnation(cluster, 1);
    cluster.world.run_until(cluster.world.now() + 1s);
  };
  restart();
  cluster.world.lose_disk(1);
  restart();
  cluster.world.rewind_disk(1);
  restart();
  const sim::FaultCounts counts = cluster.world.fault_counts();
  CHECK(counts.crashed == 3);
  CHECK(counts.restarted == 3);
  CHECK(counts.disk_lost == 1);
  CHECK(counts.disk_old == 1);
}

TEST_CASE("A node that starts later joins and one that starts again does not") {
  Cluster cluster = reference_cluster(3, 2);
  cluster.world.start(0);
  cluster.world.start(1);
  cluster.world.run_until(Time(1s));
  cluster.world.start(2);
  cluster.world.leave(1);
  cluster.world.run_until(Time(2s));
  cluster.world.start(1);
  CHECK(sim::to_text(cluster.world.fault_counts()) == "1 restarted, 1 left, 1 joined");
}
