// One of a few nodes says a wrong number in every message, as a broken program would. The others
// go on as if it were not there, and say which one it is.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "tests/gossip/few_nodes.h"
#include "tests/gossip/party.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

constexpr std::uint64_t kFar = 1'000'000;

// The last of them lies. A local step takes 200 ms.
struct Fleet {
  explicit Fleet(std::size_t size, topology::Kind kind = topology::Kind::ring,
                 std::uint64_t goal = 0)
      : liar(fmt::format("node-{}", size - 1)) {
    for (std::size_t k = 0; k < size; ++k) {
      Options options = party_options(static_cast<int>(k));
      if (k > 0) options.seeds = {FewNodes::control_of("node-0")};
      options.expect = size;
      options.topology.kind = kind;
      options.goal.rounds = goal;
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
  std::map<std::string, std::uint64_t> steps;
  std::map<std::string, optim::Job> last_step;
  FewNodes nodes{{.saw_output =
                      [this](const std::string& node, const Output& output, const std::string&) {
                        const auto* train = std::get_if<Train>(&output);
                        if (!train || !train->job.local) return;
                        ++steps[node];
                        last_step[node] = train->job;
                      },
                  .stepped = [](const std::string&) {}}};
};

void expect_usual_pace(const Fleet& fleet, std::uint64_t lead, topology::Kind kind) {
  Fleet sound(5, kind);
  sound.nodes.run(60s);
  for (const std::string& node : fleet.honest()) {
    CAPTURE(node);
    CAPTURE(lead);
    // The others wait for the liar once, where they believe none of its vectors.
    CHECK(fleet.steps.at(node) >= sound.steps.at(node) * (lead == kFar ? 8 : 9) / 10);
    const Status status = fleet.status(node);
    CHECK(status.run.round - status.run.uncounted <= fleet.steps.at(node) + 100);
    for (const std::string& reason : status.reasons) {
      CAPTURE(reason);
      for (const std::string& other : fleet.honest())
        CHECK(reason.find(other) == std::string::npos);
    }
  }
}

}  // namespace

TEST_CASE("A neighbour that says it is rounds ahead does not hold the others up") {
  for (const topology::Kind kind : {topology::Kind::ring, topology::Kind::complete})
    for (const std::uint64_t lead : {std::uint64_t{60}, kFar}) {
      Fleet fleet(5, kind);
      fleet.lie<Round>([&](Round& round) { round.round += round.round > 0 ? lead : 0; });
      fleet.nodes.run(60s);
      expect_usual_pace(fleet, lead, kind);
      if (lead == kFar) {
        for (const std::string& node : fleet.honest()) CHECK(fleet.status(node).run.round < 1000);
        continue;
      }
      std::size_t told = 0;
      for (const std::string& node : fleet.honest())
        told += std::ranges::any_of(fleet.status(node).reasons, [&](const std::string& reason) {
          return reason.starts_with(fleet.liar + " says that it is in round");
        });
      CHECK(told > 0);
    }
}

// Each of these rounds is another one, so that none is told twice.
TEST_CASE("A node that has not measured a round yet follows nobody far ahead") {
  Fleet fleet(5);
  std::uint64_t lead = 0;
  fleet.lie<Round>([&](Round& round) { round.round += round.round > 0 ? lead += 1000 : 0; });
  fleet.nodes.run(15s);
  for (const std::string& node : fleet.honest()) {
    CAPTURE(node);
    CHECK(fleet.steps.at(node) > 10);
    CHECK(fleet.status(node).run.round < 1000);
  }
}

// Where nobody else could contradict, beside a round that is as high as a message can say.
TEST_CASE("A node goes on below the last round of all") {
  Fleet fleet(2);
  fleet.lie<Round>([](Round& round) { round.round += round.round > 0 ? kRoundLimit - 1000 : 0; });
  fleet.nodes.run(30s);
  CHECK(fleet.steps.at("node-0") > 50);
  CHECK(fleet.status("node-0").run.round < kRoundLimit / 2);
}

TEST_CASE("Rounds that a neighbour only claims do not reach the goal of the node that follows it") {
  Fleet fleet(2, topology::Kind::ring, 200);  // where nobody else can contradict
  fleet.lie<Round>([](Round& round) { round.round += round.round > 0 ? kFar : 0; });
  fleet.nodes.run(15s);
  CHECK(fleet.status("node-0").run.round > kFar);
  CHECK(fleet.status("node-0").state == State::training);
  const optim::Job& step = fleet.last_step.at("node-0");
  CHECK(step.round - step.uncounted < fleet.steps.at("node-0") + 100);
  fleet.nodes.run(60s);
  CHECK(fleet.status("node-0").state == State::finished);
  CHECK(fleet.steps.at("node-0") > 100);
}

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
