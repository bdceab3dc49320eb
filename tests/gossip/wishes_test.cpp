#include "gossip/members/wishes.h"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <string>

#include "tests/gossip/party.h"
#include "tests/gossip/samples.h"

using namespace starling;
using namespace starling::gossip;

namespace {

// node-1, which wishes nothing, and others.
struct Table {
  void hear(int node, Wishes wishes, Phase phase = Phase::training) {
    Member member = test::sample_member(fmt::format("node-{}", node));
    member.incarnation = ++incarnation;
    member.phase = phase;
    member.agreement = party.membership.roster().own().agreement;
    member.wishes = wishes;
    party.membership.receive(Time{}, {}, Gossip{{{member}}}, party.outbox);
  }
  Wishes wished() { return gossip::wished(party.membership.roster()); }

  test::Party party{test::party_options(1)};
  std::uint64_t incarnation = 0;
};

}  // namespace

TEST_CASE("The second largest wish counts where three wish") {
  Table table;
  CHECK(table.wished() == Wishes{});
  table.hear(2, {.steps = 1024, .shortening = 1});
  CHECK(table.wished() == Wishes{.steps = 1024, .shortening = 1});
  table.hear(3, {.steps = 4, .shortening = 2});
  CHECK(table.wished() == Wishes{.steps = 1024, .shortening = 2});
  table.hear(4, {.steps = 2, .shortening = 8});
  CHECK(table.wished() == Wishes{.steps = 4, .shortening = 2});
  table.hear(5, {.steps = 1024});
  CHECK(table.wished() == Wishes{.steps = 1024, .shortening = 2});
}

TEST_CASE("A member with other agreed values wishes nothing") {
  Table table;
  Member member = test::sample_member("node-2");
  member.agreement = table.party.membership.roster().own().agreement + 1;
  member.phase = Phase::training;
  member.wishes = {.steps = 64};
  table.party.membership.receive(Time{}, {}, Gossip{{{member}}}, table.party.outbox);
  CHECK(table.wished() == Wishes{});
}

TEST_CASE("A member that does not train wishes nothing") {
  Table table;
  for (int node = 2; node <= 4; ++node) table.hear(node, {.steps = 2});
  for (const Phase phase : {Phase::joining, Phase::paused, Phase::finished, Phase::resumed}) {
    table.hear(5, {.steps = 64}, phase);
    table.hear(6, {.steps = 64}, phase);
    CHECK(table.wished() == Wishes{.steps = 2});
  }
}
