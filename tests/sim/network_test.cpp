#include "sim/network.h"

#include <doctest/doctest.h>

#include <vector>

#include "sim/queue.h"

using namespace starling;
using namespace std::chrono_literals;

namespace {

constexpr sim::Hop kHop{0, 1, gossip::Plane::bulk};

std::vector<Time> arrivals(const sim::NetworkOptions& options, int frames) {
  sim::Network network(options, 7);
  std::vector<Time> times;
  for (int k = 0; k < frames; ++k)
    if (const auto first = network.send(Time(k * 1ms), kHop, 100).first) times.push_back(*first);
  return times;
}

}  // namespace

TEST_CASE("Events happen in the order of time and then of their making") {
  sim::Queue<int> queue;
  queue.push(Time(2s), 1);
  queue.push(Time(1s), 2);
  queue.push(Time(1s), 3);
  queue.push(Time(0s), 4);
  std::vector<int> order;
  while (!queue.empty()) order.push_back(queue.pop());
  CHECK(order == std::vector{4, 2, 3, 1});
  CHECK(queue.next_time() == kNever);
}

TEST_CASE("A frame takes the delay and no more") {
  sim::Network network({.delay = 5ms}, 1);
  const auto times = network.send(Time(1s), kHop, 100);
  CHECK(times.first == Time(1s) + 5ms);
  CHECK_FALSE(times.second);
}

TEST_CASE("Jitter does not reorder a connection unless told so") {
  sim::NetworkOptions options{.jitter = 50ms};
  CHECK(std::ranges::is_sorted(arrivals(options, 1000)));
  options.reorder = 1;
  CHECK_FALSE(std::ranges::is_sorted(arrivals(options, 1000)));
}

TEST_CASE("Frames are lost and repeated as often as asked") {
  CHECK(arrivals({.loss = 1}, 100).empty());
  const std::size_t some = arrivals({.loss = 0.3}, 10'000).size();
  CHECK(some > 6800);
  CHECK(some < 7200);
  sim::Network network({.duplicate = 1}, 1);
  CHECK(network.send(Time{}, kHop, 1).second);
}

TEST_CASE("A node's link carries one vector after the other and the control plane beside them") {
  sim::Network network({.delay = 0ms, .bandwidth = 1000}, 1);
  CHECK(network.send(Time{}, kHop, 500).first == Time(500ms));
  CHECK(network.send(Time{}, {0, 2, gossip::Plane::bulk}, 500).first == Time(1s));
  CHECK(network.send(Time{}, {3, 1, gossip::Plane::bulk}, 100).first == Time(600ms));
  CHECK(network.send(Time{}, {4, 5, gossip::Plane::bulk}, 500).first == Time(500ms));
  CHECK(network.send(Time{}, {0, 1, gossip::Plane::control}, 500).first == Time{});
}

TEST_CASE("A limited link holds up what passes between its two nodes until it is healed") {
  sim::Network network({.delay = 0ms}, 1);
  network.limit(0, 1, 1000);
  CHECK(network.send(Time{}, kHop, 500).first == Time(500ms));
  CHECK(network.send(Time{}, {1, 0, gossip::Plane::bulk}, 500).first == Time{});
  CHECK(network.send(Time{}, {0, 2, gossip::Plane::bulk}, 500).first == Time{});
  CHECK(network.counts().limited == 1);
  network.heal();
  CHECK(network.send(Time(1s), kHop, 500).first == Time(1s));
}

TEST_CASE("A packet that TCP loses delays everything behind it and nothing is lost") {
  sim::Network network({.delay = 0ms, .packet_loss = .3}, 1);
  Time before{};
  std::size_t late = 0;
  for (int k = 0; k < 1000; ++k) {
    const Time sent(k * 1s);
    const auto arrivals = network.send(sent, kHop, 100);
    REQUIRE(arrivals.first);
    CHECK(*arrivals.first >= before);
    late += *arrivals.first >= sent + 200ms;
    before = *arrivals.first;
  }
  CHECK(late > 250);
  CHECK(late < 400);
  CHECK(network.counts().lost == 0);
}

TEST_CASE("A cut works one way and a partition both") {
  sim::Network network({}, 1);
  network.cut(0, 1);
  CHECK_FALSE(network.send(Time{}, kHop, 1).first);
  CHECK(network.send(Time{}, {1, 0, gossip::Plane::bulk}, 1).first);
  network.heal();
  CHECK(network.send(Time{}, kHop, 1).first);
  const std::vector<std::size_t> group{0, 2};
  network.partition(group, 4);
  CHECK_FALSE(network.send(Time{}, kHop, 1).first);
  CHECK_FALSE(network.send(Time{}, {3, 2, gossip::Plane::bulk}, 1).first);
  CHECK(network.send(Time{}, {0, 2, gossip::Plane::bulk}, 1).first);
}

TEST_CASE("A clogged connection holds everything and then delivers it in order") {
  sim::Network network({.delay = 1ms}, 1);
  network.clog(0, 1, Time(5s));
  CHECK(network.send(Time(1s), kHop, 1).first == Time(5s));
  CHECK(network.send(Time(2s), kHop, 1).first == Time(5s));
  CHECK(network.send(Time(2s), {1, 0, gossip::Plane::bulk}, 1).first == Time(2s) + 1ms);
  CHECK(network.send(Time(6s), kHop, 1).first == Time(6s) + 1ms);
  CHECK(network.counts().clogged == 2);
}

TEST_CASE("A spike holds up what is behind it") {
  sim::Network network({.delay = 1ms, .spike = 1}, 1);
  const Time first = *network.send(Time{}, kHop, 1).first;
  network.options().spike = 0;
  CHECK(first > Time(1ms));
  CHECK(*network.send(Time{}, kHop, 1).first == first);
  CHECK(network.counts().delayed == 1);
}

TEST_CASE("Only what really hits a frame is counted") {
  sim::Network network({}, 1);
  network.cut(0, 1);
  network.cut(2, 3);
  network.cut(3, 2);
  CHECK(sim::to_text(network.counts()) == "none");
  network.send(Time{}, kHop, 1);
  network.send(Time{}, {2, 3, gossip::Plane::bulk}, 1);
  network.send(Time{}, {1, 0, gossip::Plane::bulk}, 1);
  CHECK(sim::to_text(network.counts()) == "1 cut one way, 1 cut both ways");
}
