// Nodes find out by being dialled back whether others can dial them.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/gossip/crowd.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

// All give their addresses and have them tested.
struct Testing : Cluster {
  explicit Testing(int size, const std::set<std::size_t>& nats, bool has_keys = false)
      : Cluster(0) {
    behind_nat = nats;
    for (int k = 0; k < size; ++k) start(k, has_keys ? keyed_options(k) : party_options(k));
  }
  void start(int k, Options options) {
    options.tests_address = true;
    if (k > 0) options.seeds = {party_options(0).control};
    if (parties.size() <= static_cast<std::size_t>(k))
      parties.resize(static_cast<std::size_t>(k) + 1);
    parties[static_cast<std::size_t>(k)] = std::make_unique<Party>(options, now);
  }
  const Member& own(std::size_t k) const { return parties[k]->membership.roster().own(); }
  // Whether all nodes know of `of` that it is hidden, or all that it is not.
  bool all_know(std::size_t of, bool is_it) const {
    return std::ranges::all_of(parties, [&](const auto& party) {
      const Member* member = party->membership.roster().find(own(of).id);
      return member && gossip::is_hidden(*member) == is_it;
    });
  }
  bool warns(std::size_t k, const std::string& text) const {
    const auto warnings = parties[k]->membership.warnings(now);
    return std::ranges::any_of(
        warnings, [&](const std::string& warning) { return warning.find(text) != warning.npos; });
  }
};

}  // namespace

TEST_CASE("A node that others cannot dial finds out and all wait for it to dial") {
  struct World {
    std::string name;
    bool silences, refuses;
  };
  for (const bool has_keys : {false, true})
    for (const World& world :
         {World{"the host answers nothing", true, false}, World{"the host refuses", false, true},
          World{"another machine answers there", false, false}}) {
      CAPTURE(world.name);
      CAPTURE(has_keys);
      Testing table(6, {3, 4}, has_keys);
      table.silences = world.silences;
      table.refuses = world.refuses;
      table.run(10s);
      for (std::size_t k = 0; k < 6; ++k) CHECK(table.all_know(k, k == 3 || k == 4));
      CHECK(table.warns(3, "cannot reach this node at 10.0.0.3:7600"));
      CHECK_FALSE(table.warns(1, "cannot reach"));
      table.run(3min);
      for (std::size_t k = 0; k < 6; ++k) {
        CHECK(table.all_know(k, k == 3 || k == 4));
        CHECK(table.parties[k]->membership.roster().departures() == 0);
      }
    }
}

TEST_CASE("Members of one LAN behind a NAT do not vouch for each other") {
  Testing table(1, {1, 2, 3, 4});
  table.silences = true;
  for (int k = 1; k < 5; ++k) {
    Options options = party_options(k);
    options.control.host = fmt::format("192.168.1.{}", k);
    table.start(k, options);
  }
  table.same_lan = {1, 2, 3, 4};
  table.run(10s);
  for (std::size_t k = 0; k < 5; ++k) CHECK(table.all_know(k, k > 0));
}

// Two members can dial the node, and a third of another network cannot.
TEST_CASE("The network of a member is told by its address and of a name by all of it") {
  struct Hosts {
    std::string node, mates;  // a digit follows that of `mates`
    bool are_near;
  };
  for (const Hosts& hosts : {Hosts{"192.168.1.9", "192.168.1.", true},
                             {"192.168.1.9", "192.168.2.", false},
                             {"fd00:1:2:3::9", "fd00:1:2:3::", true},
                             {"fd00:1:2:3::9", "fd00:1:2:4::", false},
                             {"node-9.site", "node-", false}}) {
    CAPTURE(hosts.node);
    CAPTURE(hosts.mates);
    Testing table(1, {3});
    table.same_lan = {1, 2, 3};
    table.silences = true;
    for (int k = 1; k < 4; ++k) {
      Options options = party_options(k);
      options.control.host = k == 3 ? hosts.node : fmt::format("{}{}", hosts.mates, k);
      table.start(k, options);
    }
    table.run(10s);
    CHECK(table.all_know(3, hosts.are_near));
  }
}

TEST_CASE("A node that can be dialled again says so within two minutes") {
  Testing table(4, {3});
  table.run(10s);
  REQUIRE(table.all_know(3, true));
  table.behind_nat.clear();
  table.run(2min);
  CHECK(table.all_know(3, false));
  CHECK_FALSE(table.warns(3, "cannot reach"));
  table.behind_nat = {2};
  table.run(2min);
  CHECK(table.all_know(2, true));
}

// Members that count as hidden dial no other member that does, so their seeds must lead them.
TEST_CASE("Members that all counted as hidden find out that they can be dialled again") {
  for (const bool has_keys : {false, true}) {
    CAPTURE(has_keys);
    Testing table(4, {}, has_keys);
    table.run(10s);
    table.behind_nat = {0, 1, 2, 3};
    table.run(3min);
    const auto are_all = [&](bool hidden) {
      return std::ranges::all_of(table.parties, [&](const auto& party) {
        return gossip::is_hidden(party->membership.roster().own()) == hidden;
      });
    };
    REQUIRE(are_all(true));
    table.behind_nat.clear();
    table.run(20s);
    CHECK(are_all(false));
    for (std::size_t k = 0; k < 4; ++k) CHECK(table.all_know(k, false));
  }
}

TEST_CASE("A node that was found to be hidden restarts without being its own namesake") {
  Testing table(4, {3});
  table.run(10s);
  REQUIRE(table.all_know(3, true));
  table.start(3, party_options(3, 2));
  std::erase_if(table.dialled, [](const auto& pair) { return pair.first == 3; });
  table.run(1s);
  CHECK_FALSE(table.parties[3]->membership.identity().namesake());
  CHECK(table.parties[0]->membership.roster().incarnation_of(node_id("node-3")) == 2);
  table.run(10s);
  CHECK(table.all_know(3, true));
}

TEST_CASE("A node is hidden when at least half of those who tried could not dial it") {
  struct Opinions {
    std::size_t closed, open, silent;
    bool is_hidden;
  };
  for (const Opinions& all : {Opinions{0, 3, 0, false},
                              {1, 2, 0, false},
                              {2, 1, 0, true},
                              {2, 0, 1, true},
                              {1, 1, 1, true},
                              {0, 1, 2, false},
                              {1, 0, 2, true},
                              {0, 0, 3, false}}) {
    CAPTURE(all.closed);
    CAPTURE(all.open);
    Cluster table(4);
    table.run(3s);
    Options options = party_options(3);
    options.tests_address = true;
    Reachability reach(options, table.parties[3]->membership.roster(), table.prng, Time{});
    Outputs outputs;
    Outbox out(1, node_id("node-3"), 1);
    out.begin(outputs);
    CHECK_FALSE(reach.tick(Time{}, out));
    REQUIRE(outputs.size() == 3);
    for (std::size_t k = 0; k < all.closed + all.open; ++k) {
      const auto& send = std::get<Send>(outputs[k]);
      DialBack answer = std::get<DialBack>(send.message.body);
      answer.kind = DialBack::Kind::call;
      reach.receive(Time{}, send.to, answer, out);
      answer.kind = DialBack::Kind::answer;
      answer.is_closed = k < all.closed;
      reach.receive(Time{}, send.to, answer, out);
    }
    auto verdict = reach.tick(Time{}, out);
    if (!verdict) verdict = reach.tick(Time(10s), out);
    const Time ended = all.silent > 0 ? Time(10s) : Time{};
    CHECK(verdict.value_or(false) == all.is_hidden);
    CHECK(reach.deadline() > ended);
    CHECK(reach.warnings().empty() != all.is_hidden);
  }
}

TEST_CASE("A member dials for few others at once and only for members") {
  Cluster table(40);
  table.run(1s);
  Party& node = *table.parties[0];
  node.out.clear();
  const auto ask = [&](const std::string& name) {
    const Envelope from{1, node_id(name), 1, 1};
    node.membership.receive(table.now, from, DialBack{.number = 7, .control = {"10.0.0.9", 1}},
                            node.outbox);
  };
  for (int k = 1; k < 40; ++k) ask(party_options(k).name), ask(party_options(k).name);
  ask("stranger");
  const auto dialled = std::ranges::count_if(
      node.out, [](const Output& output) { return std::holds_alternative<Introduce>(output); });
  CHECK(dialled == 16);
}

TEST_CASE("A member dials a name again when it has been looked up") {
  Cluster table(2);
  table.run(1s);
  Party& node = *table.parties[0];
  const Endpoint name{"machine-1", 7600};
  const auto calls = [&node] {
    return std::ranges::count_if(std::exchange(node.out, {}), [](const Output& output) {
      const auto* sent = std::get_if<Introduce>(&output);
      return sent && sent->of == node_id("node-1") && sent->to.host == "machine-1";
    });
  };
  calls();
  node.membership.receive(table.now, {1, node_id("node-1"), 1, 1},
                          DialBack{.number = 7, .control = name}, node.outbox);
  CHECK(calls() == 1);
  node.membership.resolved(table.now, {{Endpoint{"machine-2", 7600}}, {{"10.0.0.2", 7600}}},
                           node.outbox);
  CHECK(calls() == 0);
  node.membership.resolved(table.now, {name, {{"10.0.0.1", 7600}}}, node.outbox);
  CHECK(calls() == 1);
}
