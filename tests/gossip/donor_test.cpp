#include "gossip/node/donor.h"

#include <doctest/doctest.h>

#include "tests/gossip/party.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

const NodeId kFirst = node_id("node-1"), kSecond = node_id("node-2");

// node-0, which two newcomers have told of themselves.
struct Fixture {
  Fixture() {
    for (int k : {1, 2}) {
      const Options options = party_options(k);
      Member member;
      member.id = node_id(options.name);
      member.name = options.name;
      member.control = options.control;
      member.incarnation = 1;
      party.membership.receive(Time{}, {.sender = member.id}, Join{member}, party.outbox);
    }
    party.said();
  }
  void make(Time now, std::uint64_t round) {
    const std::byte bytes[4] = {};
    donor.made(now, round, Payload::copy_of(bytes), {}, party.membership.roster(), party.outbox);
  }
  void ask(Time now, NodeId by) { donor.asked(now, by, party.membership.roster(), party.outbox); }

  Party party{party_options(0)};
  Donor donor;
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "All newcomers that ask before a copy is made get the same copy") {
  CHECK_FALSE(donor.claim());
  ask(Time{}, kFirst);
  ask(Time{}, kSecond);
  ask(Time{}, kFirst);
  CHECK(donor.claim());
  CHECK_FALSE(donor.claim());
  CHECK(party.said().empty());
  make(Time(10ms), 7);
  const auto sends = party.said();
  REQUIRE(sends.size() == 2);
  for (const Said& send : sends) {
    CHECK(std::get<Snapshot>(send.message.body).round == 7);
    CHECK(send.message.payload.size() == 4);
  }
  CHECK(sends[0].at == party_options(1).control);
  CHECK(sends[1].at == party_options(2).control);
}

TEST_CASE_FIXTURE(Fixture, "A fresh copy is sent at once and an old copy is dropped") {
  ask(Time{}, kFirst);
  CHECK(donor.claim());
  make(Time{}, 7);
  party.said();
  ask(Time(100ms), kSecond);
  CHECK(party.said().size() == 1);
  CHECK_FALSE(donor.claim());
  CHECK(donor.deadline() == Time(200ms));
  donor.tick(Time(200ms));
  CHECK(donor.deadline() == kNever);
  ask(Time(1s), kSecond);
  CHECK(party.said().empty());
  CHECK(donor.claim());
}

TEST_CASE_FIXTURE(Fixture, "A node that is no member gets no copy") {
  ask(Time{}, node_id("nobody"));
  CHECK(donor.claim());
  make(Time{}, 7);
  CHECK(party.said().empty());
}

TEST_CASE_FIXTURE(Fixture, "A member that asks again and again gets one copy a second") {
  std::size_t copies = 0;
  for (Time now{}; now < Time(3s); now += 10ms) {
    donor.tick(now);
    ask(now, kFirst);
    if (donor.claim()) make(now, 7);
    copies += party.said().size();
  }
  CHECK(copies == 4);
  ask(Time(3s), kSecond);
  if (donor.claim()) make(Time(3s), 7);
  CHECK(party.said().size() == 1);
}

TEST_CASE_FIXTURE(Fixture,
                  "Of many members that ask at once as many get a copy as may wait for one") {
  Gossip newcomers;
  for (int k = 3; k < 303; ++k) {
    Member member;
    member.name = fmt::format("node-{}", k);
    member.id = node_id(member.name);
    member.control = {fmt::format("10.0.1.{}", k), 7600};
    member.incarnation = 1;
    newcomers.rumors.push_back({member});
  }
  party.membership.receive(Time{}, {}, newcomers, party.outbox);
  ask(Time{}, kFirst);
  REQUIRE(donor.claim());
  make(Time{}, 7);
  CHECK(party.said().size() == 1);
  for (const Rumor& rumor : newcomers.rumors) ask(Time(100ms), rumor.member->id);
  CHECK(party.said().size() == 255);
}
