// An edge over which nothing comes is named, and a node with no other knows that it has averaged
// with nobody.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gossip/edges/neighbors.h"
#include "tests/gossip/few_nodes.h"
#include "tests/gossip/party.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

bool warns(const Node& node, Time now, const std::string& text) {
  const std::vector<std::string> all = node.warnings(now);
  return std::ranges::find(all, text) != all.end();
}

}  // namespace

TEST_CASE("An edge that does not open is named with the cause if that is known") {
  using Warnings = std::vector<std::string>;
  Party a(party_options(1)), b(party_options(2));
  const Neighbors neighbors(a.options.timing);
  Time now{1s};
  const auto warnings = [&] { return neighbors.mute(now, a.links, a.membership.roster()); };
  a.membership.receive(now, {}, Gossip{{{b.membership.roster().own_record()}}}, a.outbox);
  a.links.open(now, 1);
  a.links.want(now, {{b.membership.roster().self()}}, a.membership.roster(), a.outbox);
  for (int k = 0; k < 5; ++k) a.links.tick(now, a.outbox), now = a.links.deadline();
  CHECK(warnings().empty());
  a.links.tick(now, a.outbox);
  CHECK(warnings() == Warnings{"no edge opens to node-2"});
  a.membership.resolved(now, {b.options.control, {}, "the host is not known"}, a.outbox);
  CHECK(warnings() == Warnings{"no edge opens to node-2: the host is not known"});
  a.membership.resolved(now, {b.options.control, {b.options.control}}, a.outbox);
  CHECK(warnings() == Warnings{"no edge opens to node-2"});
}

TEST_CASE("An open edge over which nothing comes is named until something does") {
  FewNodes nodes{{.saw_output = [](const std::string&, const Output&, const std::string&) {},
                  .stepped = [](const std::string&) {}}};
  for (int k = 1; k <= 2; ++k) {
    Options options = party_options(k);
    options.expect = 2;
    if (k == 2) options.seeds = {FewNodes::control_of("node-1")};
    nodes.start(options.name, options, CannedTrainer{});
  }
  nodes.hold("node-1", "node-2", 30s);
  nodes.hold("node-2", "node-1", 30s);
  const std::string text = "no vector comes over the edge to node-2";
  const auto is_told = [&] { return warns(*nodes.find("node-1"), nodes.now(), text); };
  const auto alone = [&] { return nodes.find("node-1")->status(nodes.now()).alone; };
  nodes.run(5s);
  CHECK_FALSE(is_told());
  CHECK(alone().empty());
  nodes.run(15s);
  CHECK(is_told());
  CHECK(alone() == text);
  nodes.run(30s);
  CHECK_FALSE(is_told());
  CHECK(alone().empty());
  nodes.kill("node-2");
  nodes.run(30s);
  CHECK(alone().empty());
}
