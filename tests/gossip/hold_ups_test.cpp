// For whom rounds wait, and who holds up the others.
#include "gossip/edges/hold_ups.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gossip/edges/wait_meter.h"
#include "gossip/members/hold_up.h"
#include "tests/gossip/samples.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;
using namespace std::chrono_literals;

namespace {

const NodeId kSlow = node_id("slow"), kOther = node_id("other");

void wait(HoldUps& hold_ups, int rounds, Duration round, NodeId neighbor, Duration wait) {
  for (int k = 0; k < rounds; ++k) hold_ups.add(round, neighbor, wait);
}

bool is_near(const HoldUps& hold_ups, double percent) {
  return std::abs(static_cast<double>(hold_ups.held().percent) - percent) <= 5;
}

// Members that wait as told, by their places; -1: for nobody.
struct Waits {
  int whom = -1;
  std::uint64_t percent = 0;
};
std::optional<HoldUp> among(const std::vector<Waits>& waits) {
  std::vector<Member> members;
  const auto name = [](int place) { return "node-" + std::to_string(place); };
  for (const Waits& one : waits) {
    members.push_back(sample_member(name(static_cast<int>(members.size()))));
    if (one.whom >= 0) members.back().held.by = node_id(name(one.whom));
    members.back().held.percent = one.percent;
  }
  std::vector<const Member*> present;
  for (const Member& member : members) present.push_back(&member);
  return hold_up_among(present);
}

}  // namespace

TEST_CASE("The neighbour that rounds wait for is known by the part of the time") {
  HoldUps hold_ups;
  CHECK(hold_ups.held().percent == 0);
  CHECK(hold_ups.held().by == NodeId{});
  wait(hold_ups, 100, 100ms, kSlow, 84ms);
  CHECK(is_near(hold_ups, 84));
  CHECK(hold_ups.held().by == kSlow);
  wait(hold_ups, 300, 100ms, kOther, 20ms);
  CHECK(hold_ups.held().by == kOther);
  CHECK(hold_ups.held().percent < 35);
}

TEST_CASE("Waits for two neighbours add up and the longer one is named") {
  HoldUps hold_ups;
  for (int k = 0; k < 100; ++k) {
    hold_ups.add(100ms, kSlow, 90ms);
    hold_ups.add(100ms, kOther, 85ms);
  }
  CHECK(is_near(hold_ups, 87));
  CHECK(hold_ups.held().by == kSlow);
}

TEST_CASE("One long wait among many short rounds counts by its time") {
  HoldUps hold_ups;
  for (int k = 0; k < 20; ++k) {
    wait(hold_ups, 100, 1ms, kOther, 0ms);
    wait(hold_ups, 1, 900ms, kSlow, 895ms);
  }
  CHECK(hold_ups.held().percent > 80);
  CHECK(hold_ups.held().by == kSlow);
  wait(hold_ups, 100, 1ms, kOther, 0ms);
  CHECK(hold_ups.held().percent > 80);
}

TEST_CASE("A neighbour that became fast is forgotten however long rounds are") {
  for (const Duration round : {Duration(10ms), Duration(30s)}) {
    HoldUps hold_ups;
    wait(hold_ups, 2000, round, kSlow, round * 9 / 10);
    CHECK(is_near(hold_ups, 90));
    wait(hold_ups, static_cast<int>(std::max<std::int64_t>(30s / round, 15)), round, {}, {});
    CHECK(hold_ups.held().percent == 0);
    CHECK(hold_ups.held().by == NodeId{});
  }
}

TEST_CASE("What is told begins later than it ends") {
  HoldUps hold_ups;
  wait(hold_ups, 1000, 100ms, kSlow, 18ms);
  CHECK(hold_ups.held().percent == 0);
  wait(hold_ups, 1000, 100ms, kSlow, 22ms);
  CHECK(is_near(hold_ups, 22));
  wait(hold_ups, 1000, 100ms, kSlow, 12ms);
  CHECK(is_near(hold_ups, 12));
  wait(hold_ups, 1000, 100ms, kSlow, 8ms);
  CHECK(hold_ups.held().percent == 0);
}

TEST_CASE("Waits of a few milliseconds are not worth saying") {
  HoldUps hold_ups;
  wait(hold_ups, 1000, 5ms, kSlow, 4ms);
  CHECK(hold_ups.held().percent == 0);
  CHECK(hold_ups.held().by == NodeId{});
  wait(hold_ups, 1000, 50ms, {}, 40ms);
  CHECK(hold_ups.held().percent == 0);
}

TEST_CASE("The first rounds name nobody") {
  HoldUps hold_ups;
  wait(hold_ups, 2, 100ms, kSlow, 100ms);
  CHECK(hold_ups.held().percent == 0);
}

TEST_CASE("A wait is never longer than its round") {
  HoldUps hold_ups;
  wait(hold_ups, 10, 100ms, kSlow, 10s);
  CHECK(is_near(hold_ups, 100));
  wait(hold_ups, 100, 100ms, kSlow, -10s);
  CHECK(hold_ups.held().percent < 50);
}

TEST_CASE("The end of the chain of those that wait holds up the others") {
  CHECK(!among({}));
  CHECK(!among({{}, {}, {}}));
  const auto found = among({{1, 80}, {2, 95}, {}, {2, 90}, {3, 85}});
  REQUIRE(found);
  CHECK(found->name == "node-2");
  CHECK(found->id == node_id("node-2"));
  CHECK(found->percent == 95);
}

TEST_CASE("Who waits for each other is held up by nobody") {
  CHECK(!among({{1, 80}, {0, 80}}));
  CHECK(!among({{1, 80}, {2, 80}, {3, 80}, {1, 80}}));
}

TEST_CASE("One that waits a little itself is a link of the chain") {
  CHECK(!among({{1, 50}, {}, {1, 20}}));
  CHECK(among({{1, 80}, {}})->name == "node-1");
  CHECK(among({{1, 80}, {2, 40}, {}})->name == "node-2");
  CHECK(among({{1, 80}, {2, 11}, {}})->name == "node-2");
}

TEST_CASE("Of two that hold up others the one that more wait for is named") {
  CHECK(among({{1, 80}, {}, {}, {2, 70}, {2, 70}})->name == "node-2");
}

TEST_CASE("One that is gone or does not train holds up nobody") {
  const Member waiting = [] {
    Member member = sample_member("node-0");
    member.held.by = node_id("node-1");
    member.held.percent = 90;
    return member;
  }();
  CHECK(!hold_up_among({&waiting}));
  Member other = sample_member("node-1");
  CHECK(hold_up_among({&waiting, &other}));
  for (const Phase phase : {Phase::joining, Phase::paused, Phase::finished}) {
    other.phase = phase;
    CHECK(!hold_up_among({&waiting, &other}));
  }
}

TEST_CASE("A round in which this node slept is nobody's fault") {
  const auto percent_after = [](bool is_told) {
    WaitMeter meter;
    Time now(1s);
    const auto round = [&](Duration length) {
      meter.begin(now);
      meter.worked(now += length / 2);
      if (length > 1s && is_told) meter.was_away();
      meter.end(now += length / 2, {.from = kSlow}, std::nullopt);
    };
    for (int k = 0; k < 100; ++k) round(2ms);
    round(60s);
    return meter.hold_ups().held().percent;
  };
  CHECK(percent_after(false) > 40);
  CHECK(percent_after(true) == 0);
}
