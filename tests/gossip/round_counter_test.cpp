#include "gossip/edges/round_counter.h"

#include <doctest/doctest.h>

#include <vector>

using namespace starling;
using namespace starling::gossip;
using namespace std::chrono_literals;

namespace {

std::vector<EdgeView> heard_in(const std::vector<std::uint64_t>& rounds) {
  std::vector<EdgeView> edges;
  for (const std::uint64_t round : rounds)
    edges.push_back({.peer = NodeId{edges.size() + 1}, .round = round});
  return edges;
}

RoundCounter counter_in(std::uint64_t round, std::size_t liars = 1) {
  RoundCounter counter(8, 8s, liars);
  counter.start(Time{}, round);
  return counter;
}

}  // namespace

TEST_CASE("Two neighbours that are ahead are followed and no further than one confirms the other") {
  RoundCounter counter = counter_in(10);
  CHECK(counter.follow(Time{}, heard_in({12, 10, 11})) == 12);
  CHECK(counter.follow(Time{}, heard_in({100, 108, 9})) == 108);
  CHECK(counter.follow(Time{}, heard_in({100, 109, 9})) == 100);
  CHECK(counter.follow(Time{}, heard_in({0, 1'000'000})) == 1'000'000);  // the only one heard
  CHECK_FALSE(counter.alone(heard_in({100, 109})));
}

TEST_CASE("One neighbour alone is followed once in a while") {
  RoundCounter counter = counter_in(10);
  const auto edges = heard_in({70, 11, 10});
  CHECK(counter.alone(edges) == NodeId{1});
  CHECK(counter.follow(Time(1s), edges) == 70);
  CHECK(counter.follow(Time(2s), edges) == 11);
  CHECK(counter.follow(Time(9s) - 1ns, edges) == 11);
  CHECK(counter.follow(Time(9s), edges) == 70);
}

TEST_CASE("As many neighbours as may lie are followed like one alone") {
  RoundCounter counter = counter_in(10, 2);
  const auto edges = heard_in({70, 11, 1'000'000, 12});
  CHECK(counter.alone(edges) == NodeId{3});
  CHECK(counter.follow(Time(1s), edges) == 1'000'000);
  CHECK(counter.follow(Time(2s), edges) == 12);
  CHECK(counter.follow(Time(2s), heard_in({70, 11, 1'000'000, 80})) == 70);
  CHECK(counter.follow(Time(2s), heard_in({70, 1'000'000})) == 70);  // none to confirm them
}

TEST_CASE("Rounds that are jumped over count as far as there was time for them") {
  RoundCounter counter = counter_in(1);
  counter.go_to(Time(100ms), 2, 100ms);
  counter.go_to(Time(1100ms), 12, 100ms);  // after a pause
  CHECK(counter.uncounted() == 0);
  counter.go_to(Time(1200ms), 12 + 65, 100ms);  // one that was done and all that are spare
  CHECK(counter.uncounted() == 0);
  CHECK_FALSE(counter.has_jumped(Time(1200ms)));
  counter.go_to(Time(1300ms), 1'000'077, 100ms);
  CHECK(counter.uncounted() == 999'999);
  CHECK(counter.has_jumped(Time(2s)));
  counter.go_to(Time(1400ms), 1'000'078, 100ms);
  CHECK(counter.uncounted() == 999'999);
  CHECK_FALSE(counter.has_jumped(Time(12s)));
}

TEST_CASE("A node that begins with a model of others counts the rounds that they did meanwhile") {
  RoundCounter counter = counter_in(500);
  counter.go_to(Time(10ms), 1501, Duration{});
  CHECK(counter.uncounted() == 0);
  counter.go_to(Time(20ms), 1503, Duration{});
  CHECK(counter.uncounted() == 1);
  CHECK_FALSE(counter.has_jumped(Time(20ms)));  // too few to speak of
  counter.start(Time(30ms), 1504, 7);
  CHECK(counter.uncounted() == 7);
}
