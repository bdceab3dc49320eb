#include "gossip/members/wishes.h"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "tests/gossip/party.h"
#include "tests/gossip/samples.h"

using namespace starling;
using namespace starling::gossip;

namespace {

// node-1, which wishes nothing, and others.
struct Table {
  void hear(int node, std::uint64_t steps, Phase phase = Phase::training) {
    Member member = test::sample_member(fmt::format("node-{}", node));
    member.incarnation = ++incarnation;
    member.phase = phase;
    member.agreement = party.membership.roster().own().agreement;
    member.wished_steps = steps;
    party.membership.receive(Time{}, {}, Gossip{{{member}}}, party.outbox);
  }
  std::uint64_t wished() { return wished_steps(party.membership.roster()); }

  test::Party party{test::party_options(1)};
  std::uint64_t incarnation = 0;
};

}  // namespace

TEST_CASE("The second largest wish counts where three wish") {
  Table table;
  CHECK(table.wished() == 0);
  table.hear(2, 1024);
  CHECK(table.wished() == 1024);
  table.hear(3, 4);
  CHECK(table.wished() == 1024);
  table.hear(4, 2);
  CHECK(table.wished() == 4);
  table.hear(5, 1024);
  CHECK(table.wished() == 1024);
}

TEST_CASE("A member with other agreed values wishes nothing") {
  Table table;
  Member member = test::sample_member("node-2");
  member.agreement = table.party.membership.roster().own().agreement + 1;
  member.phase = Phase::training;
  member.wished_steps = 64;
  table.party.membership.receive(Time{}, {}, Gossip{{{member}}}, table.party.outbox);
  CHECK(table.wished() == 0);
}

TEST_CASE("A member that does not train wishes nothing") {
  Table table;
  for (int node = 2; node <= 4; ++node) table.hear(node, 2);
  for (const Phase phase : {Phase::joining, Phase::paused, Phase::finished, Phase::resumed}) {
    table.hear(5, 64, phase);
    table.hear(6, 64, phase);
    CHECK(table.wished() == 2);
  }
}
