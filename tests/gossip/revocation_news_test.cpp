#include "gossip/members/revocation_news.h"

#include <doctest/doctest.h>

#include <map>

#include "tests/gossip/certificates.h"
#include "tests/gossip/few_nodes.h"
#include "tests/gossip/party.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;
using namespace std::chrono_literals;

namespace {

constexpr int kNodes = 16;

// The list number one, which revokes that name.
Revocations revoking(const std::string& name, const KeyPair& by = test_key(1)) {
  const std::vector<Revocations::Name> names = {{name, kToday}};
  return gossip::revoke({}, names, {}, by).value();
}

// Nodes with keys, which know each other.
struct Keyed {
  Keyed() {
    for (int k = 0; k < kNodes; ++k) start(k);
    nodes.run(5s);
  }
  void start(int k) {
    Options options = keyed_options(k);
    if (k > 0) options.seeds = {FewNodes::control_of("node-0")};
    nodes.start(options.name, options, {});
  }
  void revoke(const std::string& at, const Revocations& list) {
    nodes.step(at, RevokeCommand{{encode(list)}});
  }
  // At how many other nodes the member is in that state.
  std::size_t count(const std::string& name, Liveness liveness) const {
    std::size_t found = 0;
    for (const std::string& node : nodes.running())
      for (const MemberStatus& member : nodes.find(node)->status(nodes.now()).members)
        found += node != name && member.member->name == name && member.liveness == liveness;
    return found;
  }

  std::map<std::string, std::uint64_t> kept;  // numbers of lists
  FewNodes nodes{{.saw_output =
                      [this](const std::string& node, const Output& output, const std::string&) {
                        if (const auto* keep = std::get_if<KeepRevocations>(&output))
                          kept[node] = keep->list.number;
                      },
                  .stepped = [](const std::string&) {}}};
};

}  // namespace

TEST_CASE("A list that one node hears is known to all within a second and kept") {
  Keyed fleet;
  REQUIRE(fleet.count("node-7", Liveness::alive) == kNodes - 1);
  fleet.revoke("node-3", revoking("node-7"));
  fleet.nodes.run(1s);
  CHECK(fleet.count("node-7", Liveness::left) == kNodes - 1);
  for (int k = 0; k < kNodes; ++k)
    if (k != 7) CHECK(fleet.kept[fmt::format("node-{}", k)] == 1);
  fleet.nodes.run(30s);
  CHECK(fleet.count("node-7", Liveness::alive) == 0);
}

TEST_CASE("Lists of another key or damaged or older change nothing") {
  Keyed fleet;
  fleet.revoke("node-3", revoking("node-7", test_key(2)));
  fleet.nodes.step("node-3", RevokeCommand{{"no list"}});
  fleet.nodes.run(1s);
  CHECK(fleet.kept.empty());
  CHECK(fleet.nodes.find("node-3")->status(fleet.nodes.now()).rejected.size() <= 1);
  const Revocations first = revoking("node-7");
  const std::vector<Revocations::Name> more = {{"node-8", kToday}};
  fleet.revoke("node-3", gossip::revoke(first, more, {}, test_key(1)).value());
  fleet.nodes.run(1s);
  fleet.revoke("node-3", first);
  CHECK(fleet.kept["node-3"] == 2);
}

TEST_CASE("A node that was away learns of the list when it comes back") {
  Keyed fleet;
  fleet.nodes.kill("node-5");
  fleet.revoke("node-3", revoking("node-7"));
  fleet.nodes.run(20s);
  fleet.start(5);
  fleet.nodes.run(5s);
  CHECK(fleet.kept["node-5"] == 1);
  CHECK(fleet.count("node-7", Liveness::alive) == 0);
}
