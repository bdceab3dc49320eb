// What a world does to its nodes, and what it counts.
#include <doctest/doctest.h>

#include "tests/sim/cluster.h"

using namespace starling;
using namespace starling::test;

namespace {

std::uint64_t incarnation(Cluster& cluster, std::size_t node) {
  for (const gossip::MemberStatus& member : cluster.world.status(node).members)
    if (member.self) return member.member->incarnation;
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
  CHECK(cluster.world.machine(1).repeats == 0);
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
  cluster.world.machine(1).disk.lose();
  restart();
  cluster.world.machine(1).disk.rewind();
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
  cluster.world.tell(1, gossip::LeaveCommand{});
  cluster.world.run_until(Time(2s));
  cluster.world.start(1);
  CHECK(sim::to_text(cluster.world.fault_counts()) == "1 restarted, 1 left, 1 joined");
}

namespace {

// How long until all others take node 3 of sixteen for dead.
Duration known_after(const std::function<void(sim::World&)>& strike) {
  Cluster cluster = reference_cluster(16, 16);
  cluster.start_all();
  cluster.world.run_until(Time(5s));
  strike(cluster.world);
  CHECK(cluster.comes_true(
      [&] {
        for (std::size_t node = 0; node < 16; ++node)
          if (node != 3 && cluster.liveness(node, 3) != gossip::Liveness::dead) return false;
        return true;
      },
      60s));
  return cluster.world.now() - Time(5s);
}

}  // namespace

TEST_CASE("A host that answers nothing is known to be dead before one that accepts") {
  const auto ends = [](sim::World& world) { world.crash(3); };
  const auto is_gone = [](sim::World& world) {
    world.network().partition(std::vector<std::size_t>{3}, world.options().nodes);
  };
  const auto stops = [](sim::World& world) { world.pause(3, Time(100s)); };
  const Duration refused = known_after(ends), unanswered = known_after(is_gone);
  CHECK(refused < unanswered);
  CHECK(unanswered < 5s);
  CHECK(known_after(stops) > unanswered + 1s);
}

TEST_CASE("A look over a link that is cut for less than its patience finds nothing") {
  Cluster cluster = reference_cluster(4, 4);
  std::size_t probes = 0;
  cluster.world.observe([&](std::size_t, const gossip::Output& output) {
    probes += std::holds_alternative<gossip::ConnectProbe>(output);
  });
  cluster.start_all();
  cluster.world.run_until(Time(5s));
  cluster.world.network().partition(std::vector<std::size_t>{3}, cluster.world.options().nodes);
  CHECK(cluster.comes_true([&] { return probes > 0; }, 5s));
  cluster.world.run_until(cluster.world.now() + 1s);
  cluster.world.network().heal();
  cluster.world.run_until(cluster.world.now() + 10s);
  CHECK(cluster.all_agree());
  CHECK(cluster.checker.sound());
}
