// A node's right to its name: what heals when a clock was wrong, and which of two nodes stays.
#include "gossip/members/identity.h"

#include <doctest/doctest.h>

#include "tests/gossip/crowd.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

void expect_all_alive(Cluster& table) {
  for (std::size_t k = 0; k < table.parties.size(); ++k)
    for (std::size_t of = 0; of < table.parties.size(); ++of) {
      if (!table.parties[k] || !table.parties[of]) continue;
      CAPTURE(k);
      CAPTURE(of);
      CHECK(table.seen(k, table.parties[of]->options.name) == Liveness::alive);
    }
}

const Member& record(const Party& party) {
  return party.membership.identity().record();
}

// Node `index` starts again with that incarnation and only node-0 to ask.
void restart(Cluster& table, int index, std::uint64_t incarnation) {
  Options options = party_options(index, incarnation);
  options.seeds = {party_options(0).control};
  table.parties[static_cast<std::size_t>(index)] = std::make_unique<Party>(options, table.now);
}

// A node under the name of node `index` at another address.
Party& add_namesake(Cluster& table, int index, std::uint64_t incarnation) {
  Options options = party_options(9, incarnation);
  options.name = party_options(index).name;
  options.seeds = {party_options(0).control};
  table.parties.push_back(std::make_unique<Party>(options, table.now));
  return *table.parties.back();
}

void tell(Cluster& table, std::size_t to, const Rumor& rumor) {
  Party& party = *table.parties[to];
  party.membership.receive(table.now, {}, Gossip{{rumor}}, party.outbox);
}

}  // namespace

TEST_CASE("A node restarted with an older clock outdoes its earlier incarnation") {
  for (const bool is_dead : {false, true}) {
    CAPTURE(is_dead);
    Cluster table;
    table.run(1s);
    restart(table, 2, 1'000'000'000'000);
    table.run(1s);
    table.parties[2].reset();
    table.run(is_dead ? Duration(30s) : Duration(0s));
    restart(table, 2, 5);
    table.run(1s);
    CHECK(record(*table.parties[2]).incarnation == 1'000'000'000'001);
    CHECK(table.parties[2]->outbox.envelope().incarnation == 1'000'000'000'001);
    CHECK(table.parties[1]->membership.roster().incarnation_of(node_id("node-2")) ==
          1'000'000'000'001);
    CHECK_FALSE(table.parties[2]->membership.identity().namesake());
    expect_all_alive(table);
    table.run(30s);
    expect_all_alive(table);
  }
}

TEST_CASE("A living node refutes every accusation") {
  for (const Liveness said : {Liveness::suspect, Liveness::dead, Liveness::left})
    for (const std::uint64_t incarnation : {UINT64_C(1), UINT64_C(2), UINT64_C(1) << 44})
      for (const std::uint64_t version : {UINT64_C(0), UINT64_C(9), kVersionLimit - 1}) {
        CAPTURE(said);
        CAPTURE(incarnation);
        CAPTURE(version);
        Cluster table(4);
        table.run(1s);
        Member accused = *table.parties[0]->membership.roster().find(node_id("node-2"));
        accused.incarnation = incarnation;
        accused.version = std::max(version, accused.version);
        tell(table, 0, {accused, said, node_id("node-1")});
        // What one other says of a death is a suspicion.
        const bool is_of_death = said == Liveness::dead;
        CHECK(table.seen(0, "node-2") == (is_of_death ? Liveness::suspect : said));
        table.run(4s);
        expect_all_alive(table);
        CHECK(record(*table.parties[2]).version < kVersionLimit / 2 + 1);
      }
}

// The law of rumors orders incarnations, so that nothing could outdo the last one.
TEST_CASE("An incarnation that no clock gives is not believed") {
  for (const Liveness said : {Liveness::alive, Liveness::suspect, Liveness::dead, Liveness::left})
    for (const bool is_elsewhere : {false, true}) {
      CAPTURE(said);
      CAPTURE(is_elsewhere);
      Cluster table(4);
      table.run(1s);
      Member forged = *table.parties[0]->membership.roster().find(node_id("node-2"));
      forged.incarnation = kIncarnationLimit - 1;
      if (is_elsewhere) forged.control = {"10.9.9.9", 7600};
      for (std::size_t k = 0; k < 4; ++k) tell(table, k, {forged, said, node_id("node-1")});
      Party& victim = *table.parties[2];
      victim.membership.receive(table.now, {.sender = forged.id}, Join{forged}, victim.outbox);
      victim.membership.receive(table.now, {.sender = forged.id}, Table{false, {{forged}}},
                                victim.outbox);
      table.run(20s);
      expect_all_alive(table);
      CHECK(record(victim).incarnation < 1ULL << 46);
      CHECK(victim.outbox.unsendable().empty());
      restart(table, 2, 2);
      table.run(1s);
      expect_all_alive(table);
    }
}

TEST_CASE("The latest incarnation that is believed is outdone too") {
  Cluster table(4);
  table.run(1s);
  const std::uint64_t clock = 1'000;  // of this time, in ms
  Member forged = *table.parties[0]->membership.roster().find(node_id("node-2"));
  forged.incarnation = latest_incarnation(clock);
  for (std::size_t k = 0; k < 4; ++k) tell(table, k, {forged, Liveness::dead, node_id("node-1")});
  table.run(1s);
  expect_all_alive(table);
  CHECK(record(*table.parties[2]).incarnation == latest_incarnation(clock) + 1);
  CHECK(latest_incarnation(~0ULL) < kIncarnationLimit - 1);
}

TEST_CASE("The member itself resolves two different records of one version") {
  Cluster table;
  table.run(1s);
  Member wrong = record(*table.parties[2]);
  wrong.phase = wrong.phase == Phase::joining ? Phase::training : Phase::joining;
  tell(table, 1, {wrong});
  table.run(1s);
  const Member now = record(*table.parties[2]);
  CHECK(now.version > wrong.version);
  CHECK(table.parties[1]->membership.roster().find(now.id)->phase == now.phase);
  // And one of a later version, which all believe at first.
  wrong.version = now.version + 100;
  tell(table, 1, {wrong});
  table.run(1s);
  for (const auto& party : table.parties)
    if (party) CHECK(party->membership.roster().find(now.id)->phase == now.phase);
}

TEST_CASE("A node that has left does not refute it") {
  Cluster table;
  table.run(1s);
  Party& leaver = *table.parties[2];
  leaver.membership.leave(leaver.outbox);
  const Member left = record(leaver);
  tell(table, 2, {left, Liveness::left, left.id});
  CHECK(record(leaver).version == left.version);
}

TEST_CASE("The first of two nodes with one name stays and the second ends") {
  for (const std::uint64_t incarnation : {UINT64_C(1), UINT64_C(2), UINT64_C(1) << 44}) {
    CAPTURE(incarnation);
    Cluster table;
    table.refuses = true;
    table.run(1s);
    Party& second = add_namesake(table, 1, incarnation);
    table.run(500ms);
    CHECK(second.membership.identity().defeat().find("10.0.0.1:7600") != std::string::npos);
    Party& first = *table.parties[1];
    CHECK(first.membership.identity().namesake() == second.options.control);
    CHECK(first.membership.identity().defeat().empty());
    table.parties.pop_back();
    table.run(14s);
    CHECK(first.membership.identity().namesake());
    table.run(2s);
    CHECK_FALSE(first.membership.identity().namesake());
    expect_all_alive(table);
    CHECK(record(first).incarnation == 1);
    CHECK(table.parties[0]->membership.roster().find(node_id("node-1"))->control ==
          first.options.control);
    for (const auto& party : table.parties) CHECK(party->membership.roster().departures() == 0);
  }
}

TEST_CASE("A dead node returns elsewhere at once when its old address refuses connections") {
  for (const std::uint64_t incarnation : {UINT64_C(1), UINT64_C(2)}) {
    Cluster table;
    table.refuses = true;
    table.run(1s);
    table.parties[1].reset();
    Party& second = add_namesake(table, 1, incarnation);
    table.run(1500ms);
    CHECK_FALSE(second.membership.identity().is_contested());
    CHECK(second.membership.identity().defeat().empty());
    for (const std::size_t k : {0, 2})
      CHECK(table.parties[k]->membership.roster().find(node_id("node-1"))->control ==
            second.options.control);
    expect_all_alive(table);
  }
}

TEST_CASE("A node whose host is gone returns elsewhere once it is found dead") {
  for (const std::uint64_t incarnation : {UINT64_C(0), UINT64_C(2)}) {
    Cluster table;
    table.run(1s);
    table.parties[1].reset();
    Party& second = add_namesake(table, 1, incarnation);
    table.run(2s);
    CHECK(second.membership.identity().is_contested());
    table.run(15s);
    CHECK_FALSE(second.membership.identity().is_contested());
    for (const std::size_t k : {0, 2})
      CHECK(table.parties[k]->membership.roster().find(node_id("node-1"))->control ==
            second.options.control);
    expect_all_alive(table);
  }
}

TEST_CASE("Of two nodes that took one name in separate networks the later one ends") {
  Cluster table;
  table.refuses = true;
  table.run(1s);
  Options options = party_options(9, 50);
  options.name = "node-1";
  table.parties.push_back(std::make_unique<Party>(options, table.now));
  Party& second = *table.parties.back();
  table.run(1s);
  second.membership.set_self({Phase::training, 1, 0});
  second.membership.seeds().add(party_options(0).control, true, table.now);
  table.run(2s);
  CHECK_FALSE(second.membership.identity().defeat().empty());
  CHECK(table.parties[1]->membership.identity().defeat().empty());
  table.parties.pop_back();
  table.run(5s);
  expect_all_alive(table);
}

TEST_CASE("A node outdoes a namesake that others believe in and that does not exist") {
  for (const bool refuses : {false, true}) {
    Cluster table;
    table.refuses = refuses;
    table.run(1s);
    Member forged = *table.parties[0]->membership.roster().find(node_id("node-1"));
    forged.control = {"10.9.9.9", 7600};
    forged.incarnation = 1ULL << 44;
    tell(table, 1, {forged});
    CHECK(table.parties[1]->membership.identity().namesake() == forged.control);
    table.run(5s);
    CHECK(record(*table.parties[1]).incarnation == forged.incarnation + 1);
    expect_all_alive(table);
  }
}
