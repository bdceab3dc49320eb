// Slices with masks: what hubs compute of masked parts, and what those who work together learn of
// the others.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/masks.h"
#include "base/prng.h"
#include "optim/combine/slices.h"
#include "tests/base/test_key.h"

using namespace starling;
using namespace starling::optim;
using test::test_key;

namespace {

using Vector = std::vector<double>;

NodeId id_of(std::size_t node) {
  return node_id("node-" + std::to_string(node));
}

std::shared_ptr<const MaskGroup> group_of(std::size_t self, const std::vector<std::size_t>& nodes) {
  std::vector<MaskMember> members;
  for (const std::size_t node : nodes)
    members.push_back({id_of(node), 1, *curve_key(test_key(node).public_key())});
  return std::make_shared<const MaskGroup>(7, id_of(self), std::move(members));
}

// The number of the one who gives the k-th of its numbers.
using Model = std::function<double(std::size_t node, std::size_t k)>;

double drawn(std::size_t node, std::size_t k) {
  return 200 * Prng(mix64(node << 32 | k)).uniform() - 100;
}

Slicing masked_by(std::size_t key) {
  return {.is_masked = true, .masks = std::make_shared<Masks>(test_key(key).curve_secret())};
}

// Nodes that exchange parts and means by hand.
class Circle {
 public:
  Circle(std::size_t nodes, std::size_t size, const Model& model = drawn,
         const char* format = "f64")
      : size_(size) {
    std::vector<std::size_t> all(nodes);
    for (std::size_t node = 0; node < nodes; ++node) all[node] = node;
    for (std::size_t node = 0; node < nodes; ++node) {
      slices.emplace_back(*format_named(format), masked_by(node), size);
      Vector own(size);
      for (std::size_t k = 0; k < size; ++k) own[k] = model(node, k);
      s.push_back(std::move(own));
      groups.push_back(group_of(node, all));
    }
  }
  std::size_t nodes() const { return s.size(); }
  static std::uint64_t edge(std::size_t one, std::size_t other) {
    return 1 + std::min(one, other) * 100 + std::max(one, other);
  }
  Slot slot(std::uint64_t round, std::size_t node, std::size_t peer) const {
    return {round, nodes(), nodes(), node, peer, id_of(peer)};
  }

  // What each gives every other in the round; `gives(i, j)`: otherwise it is lost.
  void give(std::uint64_t round) {
    parts.assign(nodes(), std::vector<Payload>(nodes()));
    for (std::size_t node = 0; node < nodes(); ++node) {
      const std::vector<std::uint64_t> edges = edges_of(node);
      slices[node].keep({.open = edges, .mask_group = groups[node]});
      const auto offers = slices[node].messages(places(round, node, 1), s[node], pool_);
      for (const EdgeOffer& offer : offers) parts[node][peer_of(node, offer.edge)] = offer.payload;
    }
  }
  using Reaches = std::function<bool(std::size_t from, std::size_t to)>;
  void sum(
      std::uint64_t round, const Reaches& reaches = [](auto, auto) { return true; }) {
    means.assign(nodes(), std::vector<Payload>(nodes()));
    for (std::size_t node = 0; node < nodes(); ++node)
      for (std::size_t peer = 0; peer < nodes(); ++peer)
        if (peer != node && reaches(peer, node) && reaches(node, peer))
          take(node, peer, 2 * round - 1, parts[node][peer], parts[peer][node]);
    for (std::size_t node = 0; node < nodes(); ++node) {
      const auto offers = slices[node].messages(places(round, node, 0), s[node], pool_);
      for (const EdgeOffer& offer : offers) means[node][peer_of(node, offer.edge)] = offer.payload;
    }
  }
  void move(
      std::uint64_t round, const Reaches& reaches = [](auto, auto) { return true; }) {
    for (std::size_t node = 0; node < nodes(); ++node)
      for (std::size_t peer = 0; peer < nodes(); ++peer)
        if (peer != node && reaches(peer, node) && reaches(node, peer))
          take(node, peer, 2 * round, means[node][peer], means[peer][node]);
  }
  void exchange(std::uint64_t round) { give(round), sum(round), move(round); }

  Vector mean() const {
    Vector mean(size_);
    for (const Vector& own : s)
      for (std::size_t k = 0; k < size_; ++k) mean[k] += own[k] / static_cast<double>(nodes());
    return mean;
  }
  // The largest difference of a number of any node from the point.
  double distance_from(const Vector& point) const {
    double most = 0;
    for (const Vector& own : s)
      for (std::size_t k = 0; k < size_; ++k) most = std::max(most, std::abs(own[k] - point[k]));
    return most;
  }
  // The masked numbers that one gives another, without the last.
  std::vector<std::uint64_t> masked(std::size_t from, std::size_t to) const {
    const Payload& part = parts[from][to];
    std::vector<std::uint64_t> numbers(part.size() / 8 - 3);
    part.copy_to(16, std::as_writable_bytes(std::span(numbers)));
    return numbers;
  }
  // Of the slice that it sums in the round, its first number and how many.
  std::pair<std::size_t, std::size_t> slice(std::uint64_t round, std::size_t hub) const {
    const std::size_t turn = (hub + round) % nodes();
    const std::size_t first = turn * size_ / nodes();
    return {first, (turn + 1) * size_ / nodes() - first};
  }

  std::vector<Slices<double>> slices;
  std::vector<Vector> s;
  std::vector<std::shared_ptr<const MaskGroup>> groups;
  std::vector<std::vector<Payload>> parts, means;  // by giver and receiver

 private:
  std::vector<std::uint64_t> edges_of(std::size_t node) const {
    std::vector<std::uint64_t> edges;
    for (std::size_t peer = 0; peer < nodes(); ++peer)
      if (peer != node) edges.push_back(edge(node, peer));
    return edges;
  }
  std::size_t peer_of(std::size_t node, std::uint64_t edge) const {
    const std::size_t low = (edge - 1) / 100, high = (edge - 1) % 100;
    return low == node ? high : low;
  }
  std::vector<EdgePlace> places(std::uint64_t round, std::size_t node, std::uint64_t before) const {
    std::vector<EdgePlace> places;
    for (std::size_t peer = 0; peer < nodes(); ++peer)
      if (peer != node)
        places.push_back({.edge = edge(node, peer),
                          .number = 2 * round - before,
                          .slot = slot(round, node, peer)});
    return places;
  }
  void take(std::size_t node, std::size_t peer, std::uint64_t number, const Payload& own,
            const Payload& theirs) {
    const auto taken = slices[node].take({.peer = id_of(peer),
                                          .weight = 1 / static_cast<double>(nodes()),
                                          .theirs = theirs,
                                          .own = own,
                                          .edge = edge(node, peer),
                                          .span = 1,
                                          .number = number},
                                         {}, s[node]);
    CHECK(taken.is_sound);
  }

  std::size_t size_;
  BufferPool pool_;
};

// Those who work together know the streams of each of them with anybody: what is left of the part
// that `victim` gives node 0 in the round.
std::vector<std::uint64_t> stripped(const Circle& circle, std::uint64_t round, std::size_t victim,
                                    const std::vector<std::size_t>& colluders) {
  std::vector<std::uint64_t> numbers = circle.masked(victim, 0);
  for (const std::size_t colluder : colluders) {
    Masks masks(test_key(colluder).curve_secret());
    const auto members = circle.groups[victim]->members();
    REQUIRE(masks.begin(
        std::make_shared<const MaskGroup>(7, id_of(colluder),
                                          std::vector<MaskMember>(members.begin(), members.end())),
        round));
    masks.add_stream(id_of(victim), id_of(0), numbers);
  }
  return numbers;
}

double read_fixed(std::uint64_t number) {
  return static_cast<double>(static_cast<std::int64_t>(number)) / kFixedOne;
}

}  // namespace

TEST_CASE("Masked parts give every node the mean to the last bit of fixed point") {
  for (const std::size_t nodes : {3U, 4U, 8U})
    for (const std::size_t size : {0U, 2U, 50U, 5000U}) {
      CAPTURE(nodes);
      CAPTURE(size);
      Circle circle(nodes, size);
      const Vector mean = circle.mean();
      circle.exchange(1);
      CHECK(circle.distance_from(mean) < 0x1p-31);
    }
}

TEST_CASE("Numbers on the wire are rounded without moving the mean") {
  Circle circle(5, 300, drawn, "bf16");
  const Vector before = circle.mean();
  circle.exchange(1);
  const Vector after = circle.mean();
  for (std::size_t k = 0; k < before.size(); ++k)
    CHECK(after[k] == doctest::Approx(before[k]).epsilon(1e-9));
  CHECK(circle.distance_from(before) < 1);
}

TEST_CASE("Without the part of one member there is no mean and all goes on") {
  Circle circle(5, 100);
  const std::vector<Vector> before = circle.s;
  // Nothing gets through between 1 and 3: each has no mean, and the other three have theirs.
  const auto reaches = [](std::size_t from, std::size_t to) {
    return std::min(from, to) != 1 || std::max(from, to) != 3;
  };
  const Vector mean = circle.mean();
  circle.give(1), circle.sum(1, reaches), circle.move(1, reaches);
  for (std::size_t hub = 0; hub < 5; ++hub) {
    const auto [first, count] = circle.slice(1, hub);
    for (std::size_t node = 0; node < 5; ++node)
      for (std::size_t k = first; k < first + count; ++k)
        CHECK(circle.s[node][k] ==
              doctest::Approx(hub == 1 || hub == 3 ? before[node][k] : mean[k]).epsilon(1e-9));
  }
  circle.exchange(2);
  CHECK(circle.distance_from(mean) < 1e-9);
}

// What j did not get the hub has given away all the same.
TEST_CASE("An edge that ends before its mean moves the sum by the difference of that pair") {
  Circle circle(4, 40);
  const std::vector<Vector> before = circle.s;
  const Vector mean = circle.mean();
  circle.give(1), circle.sum(1);
  circle.move(1, [](std::size_t from, std::size_t to) { return from + to != 1; });  // 0 and 1
  const Vector after = circle.mean();
  const auto off = [&](std::size_t hub, std::size_t giver) {
    const auto [first, count] = circle.slice(1, hub);
    for (std::size_t k = first; k < first + count; ++k) {
      double others = 0;
      for (std::size_t node = 0; node < 4; ++node)
        if (node != hub) others += before[node][k] / 3;
      CHECK(4 * (after[k] - mean[k]) == doctest::Approx(before[giver][k] - others).epsilon(1e-6));
    }
  };
  off(0, 1), off(1, 0);
}

TEST_CASE("Members that know of another member have no mean together") {
  Circle circle(5, 100);
  circle.groups[2] = group_of(2, {0, 1, 2, 3});
  const std::vector<Vector> before = circle.s;
  circle.exchange(1);
  CHECK(circle.s == before);
  circle.groups[2] = group_of(2, {0, 1, 2, 3, 4});
  const Vector mean = circle.mean();
  for (std::uint64_t round = 2; round < 8; ++round) circle.exchange(round);
  CHECK(circle.distance_from(mean) < 1e-8);
}

TEST_CASE("A group that changes and changes back counts anew at all members") {
  Circle circle(4, 40);
  circle.exchange(1);
  const std::vector<std::uint64_t> edges = {1};
  const auto before = circle.slices[1].counted(edges);
  circle.slices[0].keep({.open = {}, .mask_group = group_of(0, {0, 1, 2})});
  for (std::uint64_t round = 2; round < 4; ++round) circle.exchange(round);
  const auto after = circle.slices[1].counted(edges);
  CHECK(before.size() == 1);
  CHECK(after != before);
  for (std::size_t node = 0; node < 4; ++node) CHECK(circle.slices[node].counted(edges) == after);
}

// A wrong sum would be a number from the whole range of fixed point.
TEST_CASE("Parts whose masks do not cancel give no mean") {
  Circle circle(4, 200);
  // The others know node 3 by another key than it masks with. Of its own slice it masks nothing.
  circle.slices[3] = Slices<double>(*format_named("f64"), masked_by(9), 200);
  const std::vector<Vector> before = circle.s;
  circle.exchange(1);
  const auto [first, count] = circle.slice(1, 3);
  for (std::size_t node = 0; node < 4; ++node)
    for (std::size_t k = 0; k < 200; ++k)
      CHECK((circle.s[node][k] == before[node][k]) == (k < first || k >= first + count));
}

TEST_CASE("Numbers that are too large or none give nothing and a reason") {
  for (const double bad : {0x1p31 / 4, -0x1p40, std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()}) {
    Circle circle(4, 40, [bad](std::size_t node, std::size_t k) {
      return node == 2 && k == 11 ? bad : drawn(node, k);
    });
    const Vector before = circle.s[0];
    circle.exchange(1);
    CHECK(circle.slices[2].problem().find("exchange.masks: a number of the model is") == 0);
    CHECK(circle.slices[1].problem().empty());
    CHECK(circle.s[0] == before);
    CHECK(circle.parts[2][0].size() == 8);
  }
  Circle circle(4, 40, [](std::size_t, std::size_t) { return 0x1p31 / 4 - 1; });
  circle.exchange(1);
  CHECK(circle.distance_from(Vector(40, 0x1p31 / 4 - 1)) < 1e-6);
}

TEST_CASE("Two members give nothing") {
  Circle circle(2, 40);
  const std::vector<Vector> before = circle.s;
  circle.exchange(1);
  CHECK(circle.s == before);
  CHECK(circle.parts[0][1].size() == 8);
}

// ---------------------------------------------------------------- what an attacker learns

// Node 0 sums, and 2 and 4 tell it all that they know: of 1 and 3 they learn the sum.
TEST_CASE("All but two who work together learn of the two only their sum") {
  constexpr std::size_t kSize = 20'000;
  const auto near = [](std::size_t, std::size_t) { return 0.0; };
  const auto far = [](std::size_t node, std::size_t k) { return 1000 + drawn(node, k); };
  std::array<std::vector<std::uint64_t>, 2> left;
  for (const bool is_far : {false, true}) {
    Circle circle(5, kSize, is_far ? Model(far) : Model(near));
    const std::uint64_t round = is_far ? 2 : 1;
    circle.give(round);
    left[is_far] = stripped(circle, round, 1, {2, 4});
    const auto other = stripped(circle, round, 3, {2, 4});
    const auto [first, count] = circle.slice(round, 0);
    REQUIRE(left[is_far].size() == count);
    for (std::size_t k = 0; k < count; ++k)
      CHECK(read_fixed(left[is_far][k] + other[k]) ==
            doctest::Approx(circle.s[1][first + k] + circle.s[3][first + k]).epsilon(1e-9));
  }
  for (const std::vector<std::uint64_t>& numbers : left) {
    // Each of 16 ranges of the highest bits is met alike: chi-squared with 15 degrees of freedom,
    // which is above 45 once in ten thousand.
    std::array<double, 16> met{};
    for (const std::uint64_t number : numbers) ++met[number >> 60];
    const double each = static_cast<double>(numbers.size()) / 16;
    double chi = 0;
    for (const double count : met) chi += (count - each) * (count - each) / each;
    CHECK(chi < 45);
  }
  // Whoever knows both models guesses which one a number is of, by the nearer: right half the time.
  double right = 0, all = 0;
  for (const bool is_far : {false, true})
    for (const std::uint64_t number : left[is_far]) {
      const double read = read_fixed(number);
      right += (std::abs(read - 1000) < std::abs(read)) == is_far;
      ++all;
    }
  CHECK(right / all == doctest::Approx(.5).epsilon(.05));
}

TEST_CASE("All but one who work together learn the numbers of the one") {
  Circle circle(5, 500);
  circle.give(1);
  const auto numbers = stripped(circle, 1, 1, {2, 3, 4});
  const auto [first, count] = circle.slice(1, 0);
  REQUIRE(numbers.size() == count);
  for (std::size_t k = 0; k < count; ++k)
    CHECK(std::abs(read_fixed(numbers[k]) - circle.s[1][first + k]) < 0x1p-32);
}
