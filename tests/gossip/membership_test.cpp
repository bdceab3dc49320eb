#include "gossip/membership.h"

#include <doctest/doctest.h>

#include "tests/gossip/party.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

// Three nodes; the first is everybody's seed. What is said arrives at once, but for the silenced.
struct Table {
  Table() {
    for (int k = 0; k < 3; ++k) {
      Options options = party_options(k);
      if (k > 0) options.seeds = {party_options(0).control};
      parties.push_back(std::make_unique<Party>(options));
    }
  }
  void run(Duration duration) {
    const Time end = now + duration;
    for (; now < end; now += 50ms)
      for (auto& party : parties) {
        if (!party) continue;
        party->tick(now);
        deliver();
      }
  }
  void deliver() {
    for (bool said = true; said;) {
      said = false;
      for (std::size_t k = 0; k < parties.size(); ++k) {
        if (!parties[k]) continue;
        for (const Send& send : parties[k]->said()) {
          said = true;
          for (std::size_t to = 0; to < parties.size(); ++to)
            if (parties[to] && parties[to]->options.control == send.to && !(cut == k || cut == to))
              parties[to]->hear(now, send.message);
        }
      }
    }
  }
  Liveness seen(std::size_t by, const std::string& name) {
    return parties[by]->liveness(now, name);
  }

  Time now{};
  std::vector<std::unique_ptr<Party>> parties;
  std::optional<std::size_t> cut;  // nothing to or from this one arrives
};

}  // namespace

TEST_CASE("Nodes that know one seed come to know each other") {
  Table table;
  table.run(100ms);
  for (std::size_t k = 0; k < 3; ++k)
    for (const char* name : {"node-0", "node-1", "node-2"})
      CHECK(table.seen(k, name) == Liveness::alive);
}

TEST_CASE("A node that falls silent is suspected and then dead") {
  Table table;
  table.run(1s);
  table.parties[2].reset();
  table.run(4s);
  CHECK(table.seen(0, "node-2") == Liveness::suspect);
  CHECK(table.parties[0]->membership.find(node_id("node-2")));
  table.run(4s);
  CHECK(table.seen(0, "node-2") == Liveness::dead);
  CHECK(table.seen(1, "node-2") == Liveness::dead);
  CHECK_FALSE(table.parties[0]->membership.find(node_id("node-2")));
}

TEST_CASE("A node that was only cut off comes back by itself") {
  Table table;
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
  Table table;
  table.run(1s);
  const Member before = *table.parties[0]->membership.find(node_id("node-2"));
  table.parties[2]->membership.leave(table.parties[2]->outbox);
  table.deliver();
  table.parties[2].reset();
  CHECK(table.seen(0, "node-2") == Liveness::left);
  Party& first = *table.parties[0];
  first.membership.receive(table.now, Gossip{{before}}, first.outbox);
  CHECK(table.seen(0, "node-2") == Liveness::left);
  table.run(20s);
  CHECK(table.seen(0, "node-2") == Liveness::left);
}

TEST_CASE("A node that starts again replaces its earlier life") {
  Table table;
  table.run(1s);
  Options options = party_options(2, 2);
  options.seeds = {party_options(0).control};
  table.parties[2] = std::make_unique<Party>(options, table.now);
  table.run(1s);
  CHECK(table.parties[0]->membership.find(node_id("node-2"))->incarnation == 2);
  CHECK(table.parties[1]->membership.find(node_id("node-2"))->incarnation == 2);
}

TEST_CASE("News of a phase reaches everybody before the next heartbeat") {
  Table table;
  table.run(3s);
  Party& party = *table.parties[2];
  party.membership.set_self(table.now, Phase::training, 1, 0.5);
  table.run(150ms);
  CHECK(table.parties[0]->membership.find(node_id("node-2"))->phase == Phase::training);
  CHECK(table.parties[1]->membership.find(node_id("node-2"))->phase == Phase::training);
}

TEST_CASE("Another node under the same name is noticed") {
  Table table;
  table.run(1s);
  Member impostor = *table.parties[0]->membership.find(node_id("node-1"));
  impostor.control = {"10.9.9.9", 7600};
  ++impostor.incarnation;
  Party& victim = *table.parties[1];
  victim.membership.receive(table.now, Gossip{{impostor}}, victim.outbox);
  CHECK(victim.membership.impostor() == impostor.control);
}

TEST_CASE("A member whose id is not that of its name is ignored") {
  Table table;
  table.run(1s);
  Member liar = *table.parties[0]->membership.find(node_id("node-1"));
  liar.name = "node-7";
  ++liar.heartbeat;
  Party& first = *table.parties[0];
  first.membership.receive(table.now, Gossip{{liar}}, first.outbox);
  CHECK_FALSE(first.lists(table.now, "node-7"));
}
