// One of a few nodes says a wrong number in every message, as a broken program would. The others
// go on as if it were not there, and say which one it is.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <functional>
#include <string>

#include "tests/gossip/few_nodes.h"
#include "tests/gossip/party.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

// The last of them lies. A local step takes 200 ms.
struct Fleet {
  explicit Fleet(std::size_t size) : liar(fmt::format("node-{}", size - 1)) {
    for (std::size_t k = 0; k < size; ++k) {
      Options options = party_options(static_cast<int>(k));
      if (k > 0) options.seeds = {FewNodes::control_of("node-0")};
      options.expect = size;
      options.checkpoint.is_kept = true;
      nodes.start(options.name, options, {});
    }
  }
  // Changes every message of that kind which the liar sends.
  template <class What>
  void lie(std::function<void(What&)> change) {
    nodes.lie([this, change](const std::string& from, Body& body) {
      if (auto* what = std::get_if<What>(&body); what && from == liar) change(*what);
    });
  }
  Status status(const std::string& name) const { return nodes.find(name)->status(nodes.now()); }
  std::vector<std::string> honest() const {
    std::vector<std::string> names = nodes.running();
    std::erase(names, liar);
    return names;
  }

  std::string liar;
  FewNodes nodes{{.saw_output = [](const std::string&, const Output&, const std::string&) {},
                  .stepped = [](const std::string&) {}}};
};

}  // namespace

TEST_CASE("A round to save at that one node invents holds no checkpoint of the fleet up") {
  Fleet fleet(3);
  fleet.lie<Gossip>([&](Gossip& gossip) {
    for (Rumor& rumor : gossip.rumors)
      if (rumor.member.name == fleet.liar)
        rumor.member.save_at = 1ULL << 47, ++rumor.member.version;
  });
  fleet.nodes.run(20s);
  for (const std::string& node : fleet.honest())
    CHECK(fleet.status(node).checkpoint.fleet_round.value_or(0) < 1000);
  fleet.nodes.step("node-0", CheckpointCommand{.fleet = true});
  fleet.nodes.run(1s);
  const auto agreed = fleet.status("node-0").checkpoint.fleet_round;
  REQUIRE(agreed.has_value());
  CHECK(*agreed > 0);
  CHECK(fleet.status("node-1").checkpoint.fleet_round == agreed);
}
