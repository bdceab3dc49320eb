// What many nodes that start together send each other.
#include <doctest/doctest.h>

#include "tests/sim/cluster.h"

using namespace starling;
using namespace starling::test;

TEST_CASE("While many start at once each record comes little more often than there is news") {
  constexpr std::size_t kNodes = 100;
  // Of each member: that it is there, and that it trains.
  constexpr std::size_t kNews = 2 * kNodes * kNodes;
  Cluster cluster = reference_cluster(kNodes, kNodes);
  std::size_t told = 0;
  cluster.world.observe([&](std::size_t, const gossip::Output& output) {
    if (const auto* send = std::get_if<gossip::Send>(&output)) {
      gossip::Body body = send->message.body;
      if (const auto* rumors = gossip::rumors_in(body)) told += rumors->size();
    }
  });
  cluster.start_all();
  CHECK(
      cluster.comes_true([&] { return cluster.all_agree() && cluster.round(kNodes - 1) > 5; }, 5s));
  CHECK(told > kNews / 2);
  CHECK(told < 6 * kNews);
}
