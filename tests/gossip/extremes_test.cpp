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

TEST_CASE("A value that no node can have is not told") {
  Fleet fleet(4);
  fleet.run(two_epochs(4));
  Ranges forged = fleet.members[0].ranges();
  const auto accuracy = static_cast<std::size_t>(Quantity::accuracy);
  forged.least[accuracy] = -1e30F;
  forged.most[accuracy] = 1e30F;
  fleet.members[0].receive(fleet.now, forged);
  CHECK(fleet.members[0].ranges().most[accuracy] < 0);
  fleet.run(two_epochs(4));
  for (const Extremes& member : fleet.members)
    CHECK_FALSE(member.range(Quantity::accuracy).has_value());
  CHECK(fleet.all_see(0, 3));
}
