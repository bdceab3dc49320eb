// How long a model may be that a newcomer takes.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "gossip/node/model_search.h"
#include "tests/gossip/party.h"
#include "tests/gossip/samples.h"

using namespace starling;
using namespace starling::gossip;

namespace {

struct Table {
  void hear(const std::string& name, double norm, std::uint64_t round) {
    Member member = test::sample_member(name);
    member.incarnation = ++incarnation;
    member.phase = Phase::training;
    member.agreement = party.membership.roster().own().agreement;
    member.norm = amount_bits(norm);
    member.round = round;
    party.membership.receive(Time{}, {}, Gossip{{{member}}}, party.outbox);
  }
  double most(std::uint64_t round) {
    return norm_most(party.membership.roster(), node_id("node-2"), round);
  }

  test::Party party{test::party_options(1)};
  std::uint64_t incarnation = 0;
};

}  // namespace

TEST_CASE("A model may be ten times as long as the longest of two others") {
  Table table;
  table.hear("node-2", 1e6, 100);  // the donor itself
  CHECK(std::isinf(table.most(100)));
  table.hear("node-3", 2, 100);
  CHECK(std::isinf(table.most(100)));
  table.hear("node-4", 3, 100);
  CHECK(table.most(100) == doctest::Approx(30));
  table.hear("node-5", 1e-30, 100);
  CHECK(table.most(100) == doctest::Approx(30));
}

TEST_CASE("Norms of early rounds and of far earlier ones say nothing") {
  Table table;
  table.hear("node-3", 2, 49);
  table.hear("node-4", 3, 49);
  CHECK(std::isinf(table.most(49)));
  table.hear("node-3", 2, 60);
  table.hear("node-4", 3, 60);
  CHECK(table.most(120) == doctest::Approx(30));
  CHECK(std::isinf(table.most(121)));
}
