#include "base/masks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/base/test_key.h"

using namespace starling;
using test::test_key;

namespace {

using Numbers = std::vector<std::uint64_t>;

NodeId id_of(std::size_t member) {
  return node_id("node-" + std::to_string(member));
}

std::vector<MaskMember> members_of(std::size_t count) {
  std::vector<MaskMember> members;
  for (std::size_t k = 0; k < count; ++k)
    members.push_back({id_of(k), 100 + k, *curve_key(test_key(k).public_key())});
  return members;
}

std::shared_ptr<const MaskGroup> group_of(std::size_t self, std::vector<MaskMember> members) {
  return std::make_shared<const MaskGroup>(7, id_of(self), std::move(members));
}

// The mask of a member for who sums, of so many numbers.
Numbers mask_of(std::size_t member, const std::vector<MaskMember>& members, std::uint64_t round,
                std::size_t to, std::size_t size) {
  Masks masks(test_key(member).curve_secret());
  REQUIRE(masks.begin(group_of(member, members), round));
  Numbers numbers(size);
  masks.add(id_of(to), numbers);
  return numbers;
}

}  // namespace

TEST_CASE("The masks of all but the one who sums cancel to the last bit") {
  for (const std::size_t count : {3U, 4U, 7U})
    for (std::size_t to = 0; to < count; ++to) {
      Numbers sum(2500);
      for (std::size_t member = 0; member < count; ++member) {
        if (member == to) continue;
        const Numbers mask = mask_of(member, members_of(count), 5, to, sum.size());
        for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += mask[k];
      }
      CHECK(sum == Numbers(2500));
    }
}

TEST_CASE("The masks of all but two do not cancel") {
  Numbers sum(100);
  for (std::size_t member = 1; member < 4; ++member) {
    const Numbers mask = mask_of(member, members_of(5), 5, 0, sum.size());
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += mask[k];
  }
  CHECK(std::ranges::count(sum, 0) == 0);
}

// Half of the bits of two independent numbers are equal.
TEST_CASE("Another round or receiver or life or member or cluster gives another mask") {
  const std::vector<MaskMember> members = members_of(5);
  std::vector<MaskMember> reborn = members;
  ++reborn[4].incarnation;
  std::map<std::string, Numbers> masks;
  constexpr std::size_t kSize = 512;
  masks["usual"] = mask_of(1, members, 5, 0, kSize);
  masks["round"] = mask_of(1, members, 6, 0, kSize);
  masks["receiver"] = mask_of(1, members, 5, 2, kSize);
  masks["life"] = mask_of(1, reborn, 5, 0, kSize);
  masks["member"] = mask_of(1, members_of(4), 5, 0, kSize);
  Masks other(test_key(1).curve_secret());
  REQUIRE(other.begin(std::make_shared<const MaskGroup>(8, id_of(1), members), 5));
  masks["cluster"] = Numbers(kSize);
  other.add(id_of(0), masks["cluster"]);
  for (const auto& [name, one] : masks)
    for (const auto& [other_name, two] : masks) {
      if (name >= other_name) continue;
      CAPTURE(name);
      CAPTURE(other_name);
      int equal = 0;
      for (std::size_t k = 0; k < kSize; ++k) equal += 64 - std::popcount(one[k] ^ two[k]);
      CHECK(equal == doctest::Approx(32 * kSize).epsilon(.03));
    }
}

TEST_CASE("No round is masked twice") {
  Masks masks(test_key(0).curve_secret());
  const auto group = group_of(0, members_of(3)), larger = group_of(0, members_of(4));
  CHECK(masks.begin(group, 5));
  CHECK_FALSE(masks.begin(group, 5));
  CHECK_FALSE(masks.begin(larger, 5));
  CHECK_FALSE(masks.begin(group, 4));
  CHECK(masks.begin(larger, 6));
}

TEST_CASE("Two members have no masks and neither has a group with a key that is none") {
  Masks masks(test_key(0).curve_secret());
  CHECK_FALSE(masks.begin(group_of(0, members_of(2)), 1));
  std::vector<MaskMember> members = members_of(3);
  members[2].key = {};
  CHECK_FALSE(masks.begin(group_of(0, members), 1));
  CHECK(masks.begin(group_of(0, members_of(3)), 1));
}

TEST_CASE("A group is the same in any order and at every member") {
  std::vector<MaskMember> members = members_of(4);
  const auto one = group_of(0, members);
  std::ranges::reverse(members);
  CHECK(std::ranges::equal(group_of(3, members)->digest(), one->digest()));
  members[0].incarnation = 0;
  CHECK_FALSE(std::ranges::equal(group_of(3, members)->digest(), one->digest()));
}
