// The smallest and largest values of all members, by meetings of two: direct tests of Extremes.
#include "gossip/members/extremes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "base/prng.h"

using namespace starling;
using namespace starling::gossip;
using namespace std::chrono_literals;

namespace {

constexpr Duration kPeriod = 400ms;

PerQuantity<std::optional<double>> loss_of(std::optional<double> loss) {
  PerQuantity<std::optional<double>> values{};
  values[static_cast<std::size_t>(Quantity::loss)] = loss;
  return values;
}

// Members of which each pings a random other one every period; some meetings are lost.
struct Fleet {
  explicit Fleet(std::size_t size) {
    for (std::size_t k = 0; k < size; ++k) {
      members.emplace_back(kPeriod, now);
      members[k].set(loss_of(static_cast<double>(k)));
    }
  }
  void run(Duration duration, double loss = 0) {
    for (const Time end = now + duration; now < end; now += kPeriod)
      for (Extremes& member : members) {
        member.tick(now, members.size());
        Extremes& other = members[prng.below(members.size())];
        if (!prng.chance(loss)) other.receive(now, member.ranges());
        if (!prng.chance(loss)) member.receive(now, other.ranges());
      }
  }
  bool all_see(double least, double most) const {
    return std::ranges::all_of(members, [&](const Extremes& member) {
      const auto range = member.range(Quantity::loss);
      return range && range->least == least && range->most == most;
    });
  }

  Time now{1s};
  std::vector<Extremes> members;
  Prng prng{3};
};

// Two epochs: one in which the values were set, one that began with them.
Duration two_epochs(std::size_t members) {
  return kPeriod * 2 * (4 + 2 * static_cast<int>(std::bit_width(members)) + 2);
}

}  // namespace

TEST_CASE("All members see the extremes of all though messages are lost") {
  for (const std::size_t size : {1UL, 2UL, 16UL, 300UL})
    for (const double loss : {0.0, 0.3}) {
      CAPTURE(size);
      CAPTURE(loss);
      Fleet fleet(size);
      fleet.run(two_epochs(size), loss);
      CHECK(fleet.all_see(0, static_cast<double>(size - 1)));
    }
}

TEST_CASE("An extreme that is gone is forgotten with the next epoch") {
  Fleet fleet(16);
  fleet.run(two_epochs(16));
  REQUIRE(fleet.all_see(0, 15));
  fleet.members[15].set(loss_of(7));
  fleet.members[0].set(loss_of(std::nullopt));
  fleet.run(two_epochs(16));
  CHECK(fleet.all_see(1, 14));
}

TEST_CASE("A member that begins later joins the epoch of the others") {
  Fleet fleet(8);
  fleet.run(two_epochs(8));
  fleet.members.emplace_back(kPeriod, fleet.now);
  fleet.members.back().set(loss_of(-1));
  fleet.run(two_epochs(8));
  CHECK(fleet.all_see(-1, 7));
}

TEST_CASE("A false number of an epoch and lists of another size are passed over") {
  Fleet fleet(2);
  fleet.run(two_epochs(2));
  const std::uint64_t epoch = fleet.members[0].ranges().epoch;
  CHECK(epoch > 0);
  Ranges forged = fleet.members[0].ranges();
  forged.epoch += 1ULL << 40;
  fleet.members[0].receive(fleet.now, forged);
  CHECK(fleet.members[0].ranges().epoch == epoch);
  forged.epoch = epoch + 1;
  forged.least.pop_back();
  fleet.members[0].receive(fleet.now, forged);
  CHECK(fleet.members[0].ranges().epoch == epoch);
}

TEST_CASE("A quantity that nobody has is not told") {
  Fleet fleet(4);
  fleet.run(two_epochs(4));
  CHECK_FALSE(fleet.members[0].range(Quantity::accuracy).has_value());
}

TEST_CASE("The largest wishes of all members are told and fall with the epochs") {
  Fleet fleet(16);
  for (std::size_t k = 0; k < 16; ++k)
    fleet.members[k].wish({k == 7 ? 64.0 : 2.0, k == 3 ? 8.0 : 1.0}, true);
  fleet.run(two_epochs(16), 0.3);
  for (const Extremes& member : fleet.members) {
    CHECK(member.wished().steps == 64.0);
    CHECK(member.wished().shortening == 8.0);
  }
  CHECK(fleet.all_see(0, 15));
  fleet.members[7].wish({{}, 4.0}, true);
  fleet.run(two_epochs(16), 0.3);
  for (const Extremes& member : fleet.members) {
    CHECK(member.wished().steps == 2.0);
    CHECK(member.wished().shortening == 8.0);
  }
}

TEST_CASE("A member that begins later knows the wish from the first meeting on") {
  Fleet fleet(4);
  for (Extremes& member : fleet.members) member.wish({.steps = 32.0});
  fleet.run(two_epochs(4));
  Extremes late(kPeriod, fleet.now);
  late.wish({});
  CHECK_FALSE(late.wished().steps);
  late.receive(fleet.now, fleet.members[0].ranges());
  CHECK(late.wished().steps == 32.0);
  CHECK_FALSE(late.wished().shortening);
}

TEST_CASE("Those who tell no wish and those who tell one or both share the rest") {
  Fleet fleet(9);
  for (std::size_t k = 0; k < 9; k += 3) {
    const auto own = static_cast<double>(k + 1);
    fleet.members[k].wish({.steps = own});
    fleet.members[k + 1].wish({own + 1, own}, true);
  }
  fleet.run(two_epochs(9) * 2);
  CHECK(fleet.all_see(0, 8));
  CHECK(fleet.members[0].wished().steps == 8.0);
  CHECK_FALSE(fleet.members[0].wished().shortening);
  CHECK(fleet.members[1].wished().shortening == 7.0);
  CHECK_FALSE(fleet.members[2].wished().steps);
}
