#include "gossip/members/membership.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "tests/gossip/crowd.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

// Of node-7.
Rumor rumor(std::uint64_t incarnation, std::uint64_t version, Liveness liveness) {
  Member member;
  member.id = node_id("node-7");
  member.name = "node-7";
  member.control = {"10.0.0.7", 7600};
  member.http = {"10.0.0.7", 7680};
  member.incarnation = incarnation;
  member.version = version;
  return Rumor{member, liveness, node_id("node-1")};
}

}  // namespace

TEST_CASE("Nodes that know one seed come to know each other") {
  Cluster table;
  table.run(100ms);
  for (std::size_t k = 0; k < 3; ++k)
    for (const char* name : {"node-0", "node-1", "node-2"})
      CHECK(table.seen(k, name) == Liveness::alive);
}

TEST_CASE("A node that falls silent is suspected and then dead") {
  Cluster table;
  table.run(1s);
  table.parties[2].reset();
  table.run(4s);
  CHECK(table.seen(0, "node-2") == Liveness::suspect);
  CHECK(table.parties[0]->membership.roster().find(node_id("node-2")));
  CHECK(table.probes > 0);
  table.run(4s);
  CHECK(table.seen(0, "node-2") == Liveness::dead);
  CHECK(table.seen(1, "node-2") == Liveness::dead);
  CHECK_FALSE(table.parties[0]->membership.roster().find(node_id("node-2")));
}

TEST_CASE("A node whose address refuses connections is dead in a moment") {
  Cluster table;
  table.refuses = true;
  table.run(1s);
  table.parties[2].reset();
  table.run(200ms);
  Party& first = *table.parties[0];
  first.membership.refused(table.now, {node_id("node-2"), party_options(2).control}, first.outbox);
  CHECK(table.seen(0, "node-2") == Liveness::suspect);
  table.run(1100ms);
  CHECK(table.seen(0, "node-2") == Liveness::dead);
  CHECK(table.seen(1, "node-2") == Liveness::dead);
}

TEST_CASE("A refused connection alone does not make an answering node dead") {
  Cluster table;
  table.run(1s);
  Party& first = *table.parties[0];
  first.membership.refused(table.now, {node_id("node-2"), party_options(2).control}, first.outbox);
  table.run(10s);
  CHECK(table.seen(0, "node-2") == Liveness::alive);
  CHECK(table.seen(1, "node-2") == Liveness::alive);
}

TEST_CASE("A node that is stopped for five seconds is not dead") {
  for (int size : {2, 3, 5, 16}) {
    CAPTURE(size);
    Cluster table(size);
    table.run(3s);
    table.stopped = 1;
    table.run(5s);
    table.stopped.reset();
    for (std::size_t k = 0; k < table.parties.size(); ++k)
      CHECK(table.seen(k, "node-1") <= Liveness::suspect);
    table.run(3s);
    for (std::size_t k = 0; k < table.parties.size(); ++k)
      for (std::size_t of = 0; of < table.parties.size(); ++of)
        CHECK(table.seen(k, fmt::format("node-{}", of)) == Liveness::alive);
  }
}

TEST_CASE("A node that is stopped for long is dropped alone and comes back by itself") {
  Cluster table(6);
  table.run(3s);
  table.stopped = 1;
  table.run(30s);
  for (const std::size_t k : {0, 2, 3, 4, 5}) {
    CHECK(table.seen(k, "node-1") == Liveness::dead);
    for (const char* name : {"node-0", "node-2", "node-3", "node-4", "node-5"})
      CHECK(table.seen(k, name) == Liveness::alive);
  }
  table.stopped.reset();
  table.run(8s);
  for (std::size_t k = 0; k < 6; ++k)
    for (std::size_t of = 0; of < 6; ++of)
      CHECK(table.seen(k, fmt::format("node-{}", of)) == Liveness::alive);
}

TEST_CASE("Suspicion shortens with the number of accusers") {
  const Timing timing = timing_of("lan");
  Suspicion suspicion(Time{}, NodeId{1});
  const Time alone = suspicion.ends(timing, 10);
  CHECK(alone == Time{} + 3 * timing.suspicion);
  CHECK_FALSE(suspicion.accuse(NodeId{1}));
  CHECK(suspicion.accuse(NodeId{2}));
  const Time two = suspicion.ends(timing, 10);
  CHECK(two < alone);
  CHECK(suspicion.accuse(NodeId{3}));
  CHECK(suspicion.accuse(NodeId{4}));
  CHECK(suspicion.ends(timing, 10) == Time{} + timing.suspicion);
  CHECK_FALSE(suspicion.accuse(NodeId{5}));
  CHECK(Suspicion(Time{}, NodeId{1}).ends(timing, 2) == Time{} + timing.suspicion);
  suspicion.refuse(Time{} + 100ms);
  CHECK(suspicion.ends(timing, 10) == Time{} + 100ms + timing.refused);
}

TEST_CASE("Rumors in any order and any number leave the same table") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    Prng prng(seed);
    std::vector<Rumor> rumors;
    for (int k = 0; k < 6; ++k) {
      const auto liveness = static_cast<Liveness>(prng.below(4));
      rumors.push_back(rumor(1 + prng.below(2), prng.below(3), liveness));
    }
    std::optional<std::tuple<std::uint64_t, std::uint64_t, Liveness>> expected;
    for (int order = 0; order < 6; ++order) {
      Party party(party_options(0));
      party.membership.receive(Time{}, {}, Gossip{{rumor(1, 0, Liveness::alive)}}, party.outbox);
      for (int repeat = 0; repeat < 2; ++repeat)
        party.membership.receive(Time{}, {}, Gossip{rumors}, party.outbox);
      for (const MemberStatus& status : party.membership.roster().status(Time{})) {
        if (status.self) continue;
        const std::tuple seen(status.member->incarnation, status.member->version, status.liveness);
        if (!expected) expected = seen;
        CHECK(seen == *expected);
      }
      prng.shuffle(std::span(rumors));
    }
  }
}

TEST_CASE("What is known of a member is as old as its record whenever it was heard") {
  Party party(party_options(0));
  const auto told = [&] {
    for (const MemberStatus& status : party.membership.roster().status(Time{9s}))
      if (!status.self) return status.told;
    return Time{};
  };
  const auto hear = [&](Duration at, std::uint64_t version) {
    party.membership.receive(Time{at}, {}, Gossip{{rumor(1, version, Liveness::alive)}},
                             party.outbox);
  };
  hear(1s, 1);
  CHECK(told() == Time{1s});
  hear(3s, 1);
  CHECK(told() == Time{1s});
  hear(5s, 2);
  CHECK(told() == Time{5s});
}

TEST_CASE("Only the accused member refutes with a higher version") {
  Cluster table;
  table.run(1s);
  const Member accused = *table.parties[0]->membership.roster().find(node_id("node-2"));
  Party& first = *table.parties[0];
  first.membership.refused(table.now, {accused.id, accused.control}, first.outbox);
  first.membership.tick(table.now += timing_of("lan").refused, first.outbox);
  CHECK(table.seen(0, "node-2") == Liveness::dead);
  first.membership.receive(table.now, {}, Gossip{{{accused}}}, first.outbox);
  CHECK(table.seen(0, "node-2") == Liveness::dead);
  table.run(3s);
  CHECK(table.seen(0, "node-2") == Liveness::alive);
  CHECK(table.parties[0]->membership.roster().find(node_id("node-2"))->version > accused.version);
}

TEST_CASE("A rumor is told a bounded number of times") {
  const Timing timing = timing_of("lan");
  const Record self;
  Roster roster(self);
  for (std::uint64_t id = 1; id < 16; ++id) {
    Member member;
    member.id = NodeId{id};
    roster.add(member);
  }
  Prng prng(1);
  Dissemination news(timing, roster, prng, Time{});
  news.add(NodeId{1});
  std::size_t told = 0;
  // Every message holds this node's own record too.
  while (const std::size_t rumors = news.rumors_for(NodeId{2}).size() - 1) told += rumors;
  CHECK(told == 4 * 5);
}

TEST_CASE("A node that was only cut off comes back by itself") {
  Cluster table;
  table.run(1s);
  table.cut = 2;
  table.run(60s);
  CHECK(table.seen(0, "node-2") == Liveness::dead);
  CHECK(table.seen(2, "node-0") == Liveness::dead);
  table.cut.reset();
  table.run(7s);
  for (std::size_t k = 0; k < 3; ++k)
    for (const char* name : {"node-0", "node-1", "node-2"})
      CHECK(table.seen(k, name) == Liveness::alive);
}

TEST_CASE("A node that leaves is gone at once and old news does not revive it") {
  Cluster table;
  table.run(1s);
  const Member before = *table.parties[0]->membership.roster().find(node_id("node-2"));
  table.parties[2]->membership.leave(table.parties[2]->outbox);
  table.deliver();
  table.parties[2].reset();
  CHECK(table.seen(0, "node-2") == Liveness::left);
  Party& first = *table.parties[0];
  first.membership.receive(table.now, {}, Gossip{{{before}}}, first.outbox);
  CHECK(table.seen(0, "node-2") == Liveness::left);
  table.run(20s);
  CHECK(table.seen(0, "node-2") == Liveness::left);
}

TEST_CASE("A node that leaves passes on the news that it has not told yet") {
  Cluster table;
  table.run(1s);
  Party& leaver = *table.parties[2];
  leaver.membership.receive(table.now, {}, Gossip{{rumor(1, 1, Liveness::alive)}}, leaver.outbox);
  leaver.membership.leave(leaver.outbox);
  table.deliver();
  CHECK(table.seen(0, "node-2") == Liveness::left);
  CHECK(table.seen(0, "node-7") == Liveness::alive);
}

TEST_CASE("A restarted node replaces its earlier incarnation") {
  Cluster table;
  table.run(1s);
  Options options = party_options(2, 2);
  options.seeds = {party_options(0).control};
  table.parties[2] = std::make_unique<Party>(options, table.now);
  table.run(1s);
  CHECK(table.parties[0]->membership.roster().find(node_id("node-2"))->incarnation == 2);
  CHECK(table.parties[1]->membership.roster().find(node_id("node-2"))->incarnation == 2);
}

TEST_CASE("News of a phase reach every member before the next probe") {
  Cluster table;
  table.run(3s);
  Party& party = *table.parties[2];
  party.membership.set_self({Phase::training, 1, 0.5});
  table.run(150ms);
  CHECK(table.parties[0]->membership.roster().find(node_id("node-2"))->phase == Phase::training);
  CHECK(table.parties[1]->membership.roster().find(node_id("node-2"))->phase == Phase::training);
}

TEST_CASE("That a member begins or ends to wait is news and its percentage is not") {
  Cluster table(8);
  table.run(2s);
  Party& party = *table.parties[1];
  const auto waits = [&](std::uint64_t round, std::uint64_t percent) {
    party.membership.set_self({.round = round, .held = {node_id("node-2"), percent}});
  };
  const auto known = [&](std::uint64_t percent) {
    return std::ranges::count_if(table.parties, [&](const auto& other) {
      return other->membership.roster().find(node_id("node-1"))->held.percent == percent;
    });
  };
  const std::uint64_t version = party.membership.roster().version();
  waits(1, 60);
  table.run(500ms);
  CHECK(known(60) == 8);
  const std::uint64_t told = party.membership.identity().record()->version;
  waits(2, 80);
  CHECK(party.membership.identity().record()->version == told);
  table.run(15s);
  CHECK(known(80) == 8);
  waits(3, 0);
  table.run(500ms);
  CHECK(known(0) == 8);
  CHECK(party.membership.roster().version() == version);
}

TEST_CASE("A member whose id is not that of its name is ignored") {
  Cluster table;
  table.run(1s);
  Member liar = *table.parties[0]->membership.roster().find(node_id("node-1"));
  liar.name = "node-7";
  ++liar.version;
  Party& first = *table.parties[0];
  first.membership.receive(table.now, {}, Gossip{{{liar}}}, first.outbox);
  CHECK_FALSE(first.lists(table.now, "node-7"));
}

namespace {

Member invented(int index) {
  Member member;
  member.name = fmt::format("invented-{}", index);
  member.id = node_id(member.name);
  member.control = member.http = {fmt::format("10.{}.{}.1", 1 + index / 250, index % 250), 7600};
  member.incarnation = 1;
  member.phase = Phase::training;
  return member;
}

}  // namespace

TEST_CASE("Invented members make room for a member that sends messages") {
  Cluster table;
  table.run(1s);
  Party& first = *table.parties[0];
  for (int k = 0; k < 10'000; ++k)
    first.membership.receive(table.now, {}, Gossip{{{invented(k)}}}, first.outbox);
  CHECK(first.membership.roster().status(table.now).size() <= kMembersLimit);
  for (const char* name : {"node-1", "node-2"}) CHECK(table.seen(0, name) == Liveness::alive);
  Options options = party_options(3);
  options.seeds = {party_options(0).control};
  table.parties.push_back(std::make_unique<Party>(options, table.now));
  table.parties[3]->tick(table.now);
  table.deliver();
  CHECK(table.seen(0, "node-3") == Liveness::alive);
}

TEST_CASE("Connections to the dead are few however many have died") {
  Party node(party_options(0));
  Time now{};
  for (int k = 0; k < 40; ++k) {
    node.membership.receive(now, {}, Gossip{{{invented(k)}}}, node.outbox);
    node.membership.refused(now, {invented(k).id, invented(k).control}, node.outbox);
  }
  node.membership.tick(now += timing_of("lan").refused, node.outbox);
  node.out.clear();
  std::set<NodeId> open;
  std::size_t asked = 0, most = 0;
  const auto run = [&](Duration duration) {
    for (const Time end = now + duration; now < end; now += 50ms) {
      node.tick(now);
      for (const Output& output : std::exchange(node.out, {})) {
        if (const auto* send = std::get_if<Send>(&output)) open.insert(send->to), ++asked;
        if (const auto* hangup = std::get_if<Hangup>(&output)) open.erase(hangup->from);
      }
      most = std::max(most, open.size());
    }
  };
  run(60s);
  CHECK(asked >= 100);
  CHECK(most <= 5);
}

TEST_CASE("A node without room for another member warns of it") {
  Party party(party_options(0));
  for (std::size_t k = 0; k + 1 < kMembersLimit; ++k) {
    const Member member = invented(static_cast<int>(k));
    party.membership.receive(Time{}, {}, Gossip{{{member}}}, party.outbox);
    party.membership.heard_from(Time{}, member.id, member.incarnation, party.outbox);
  }
  CHECK(party.membership.warnings(Time{}).empty());
  party.membership.receive(Time{}, {}, Gossip{{{invented(10'000)}}}, party.outbox);
  CHECK(party.membership.roster().present().size() == kMembersLimit);
  REQUIRE(party.membership.warnings(Time{}).size() == 1);
  CHECK(party.membership.warnings(Time{}).front() ==
        "the cluster has 4096 members, as many as there may be; others are not taken in");
  CHECK(party.membership.warnings(Time(61s)).empty());
}

TEST_CASE("Names that come and go leave no more behind than a limit") {
  Party party(party_options(0));
  Time now{};
  const auto others = [&] { return party.membership.roster().others().size(); };
  for (int k = 0; k < 400; ++k, now += 1s) {
    const Member member = invented(k);
    party.membership.receive(now, {.sender = member.id}, Join{member}, party.outbox);
    party.membership.heard_from(now, member.id, member.incarnation, party.outbox);
    party.membership.refused(now + 100ms, {member.id, member.control}, party.outbox);
    party.tick(now);
    party.said();
  }
  for (int k = 0; k < 300; ++k) party.tick(now += 100ms);
  CHECK(party.membership.roster().present_count() == 1);
  CHECK(others() == absent_limit(party.membership.roster()));
  // The last ones are remembered, and what others say of the rest is not taken in again.
  CHECK(party.membership.roster().entry(invented(399).id) != nullptr);
  const Rumor old{invented(0), Liveness::dead, invented(399).id};
  party.membership.receive(now, {.sender = invented(399).id}, Gossip{{old}}, party.outbox);
  CHECK(party.membership.roster().entry(invented(0).id) == nullptr);
  CHECK(others() == absent_limit(party.membership.roster()));
}

TEST_CASE("A member that speaks and whose address refuses connections is named") {
  Party party(party_options(0));
  const Member member = invented(1);
  party.membership.receive(Time(1s), {.sender = member.id}, Join{member}, party.outbox);
  party.membership.heard_from(Time(1s), member.id, member.incarnation, party.outbox);
  CHECK(party.membership.warnings(Time(1s)).empty());
  party.membership.refused(Time(1s), {member.id, member.control}, party.outbox);
  CHECK(party.membership.warnings(Time(1200ms)).empty());  // it may have been killed
  party.membership.heard_from(Time(1500ms), member.id, member.incarnation, party.outbox);
  REQUIRE(party.membership.warnings(Time(2s)).size() == 1);
  CHECK(party.membership.warnings(Time(2s)).front() ==
        "messages come from " + member.name + ", and nobody listens at " +
            to_string(member.control) + ", the address it gives: look at its listen.advertise");
  CHECK(party.membership.warnings(Time(20s)).empty());
}

TEST_CASE("Joins of strangers make a node open a limited number of connections") {
  Party party(party_options(0));
  const auto join = [&party](Time now, const Member& stranger) {
    party.membership.receive(now, {.sender = stranger.id}, Join{stranger}, party.outbox);
  };
  for (int k = 0; k < 10'000; ++k) join(Time{}, invented(k));
  CHECK(party.said().size() <= 1024);
  join(Time(1s), invented(10'000));
  CHECK(party.said().size() == 1);
}

TEST_CASE("Requests to probe others cost few pings and none of a stranger") {
  Cluster table;
  table.run(1s);
  Party& first = *table.parties[0];
  const Envelope from{1, node_id("node-1"), 1, 1};
  for (std::uint64_t k = 1; k <= 20'000; ++k) {
    first.membership.receive(
        table.now, from, Probe{Probe::Kind::request, k, node_id("nobody"), {}, {}}, first.outbox);
    first.membership.receive(
        table.now, from, Probe{Probe::Kind::request, k, node_id("node-2"), {}, {}}, first.outbox);
  }
  std::size_t asked = 0;
  for (const Said& send : first.said()) {
    // The one who asks is answered at once where the other was just heard.
    const bool is_asked = send.at == party_options(2).control;
    CHECK((is_asked || send.at == party_options(1).control));
    asked += is_asked;
  }
  CHECK(asked <= 64);
}

TEST_CASE("A host that answers nothing is dead within five seconds and a stopped one is not") {
  std::vector<double> known;
  for (int victim = 1; victim < 16; ++victim) {
    Cluster table(16);
    table.run(3s + victim * 130ms);
    table.silences = true;
    const auto index = static_cast<std::size_t>(victim);
    table.parties[index].reset();
    const Time death = table.now;
    const auto all_know = [&] {
      for (std::size_t k = 0; k < 16; ++k)
        if (k != index && table.seen(k, party_options(victim).name) != Liveness::dead) return false;
      return true;
    };
    while (!all_know() && table.now - death < 20s) table.run(50ms);
    known.push_back(seconds(table.now - death));
    for (std::size_t k = 0; k < 16; ++k)
      if (k != index) CHECK(table.parties[k]->membership.roster().departures() == 1);
  }
  std::ranges::sort(known);
  CAPTURE(known.front());
  CAPTURE(known.back());
  CHECK(known[known.size() / 2] <= 5.0);
}
