#include "gossip/members/marks.h"

#include <doctest/doctest.h>

#include <set>

#include "tests/gossip/samples.h"

using namespace starling;
using namespace starling::gossip;

TEST_CASE("A mark tells apart whatever makes one record of a member override another") {
  Member member = test::sample_member("node-1");
  std::set<std::uint64_t> marks{mark_of(member, Liveness::alive)};
  CHECK(marks.contains(mark_of(member, Liveness::suspect)));
  for (const Liveness gone : {Liveness::dead, Liveness::left})
    CHECK(marks.insert(mark_of(member, gone)).second);
  ++member.round;
  CHECK(marks.contains(mark_of(member, Liveness::alive)));
  ++member.version;
  CHECK(marks.insert(mark_of(member, Liveness::alive)).second);
  ++member.incarnation;
  CHECK(marks.insert(mark_of(member, Liveness::alive)).second);
  CHECK(marks.insert(mark_of(test::sample_member("node-2"), Liveness::alive)).second);
}

TEST_CASE("The rest of a set of marks is what was not struck out") {
  const std::vector<std::uint64_t> given{0, 1, 3, 257, 257, ~0ULL};
  Marks marks(given);
  CHECK(marks.strike(3));
  CHECK_FALSE(marks.strike(3));
  CHECK_FALSE(marks.strike(5));
  CHECK(marks.rest() == std::vector<std::uint64_t>{0, 1, 257, ~0ULL});
  CHECK(Marks({}).rest().empty());
}
