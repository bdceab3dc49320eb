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
                 std::uint64_t goal = 0, bool has_keys = false, Alone alone = Alone::rest)
      : liar(fmt::format("node-{}", size - 1)) {
    for (std::size_t k = 0; k < size; ++k) {
      const int index = static_cast<int>(k);
      Options options = has_keys ? keyed_options(index) : party_options(index);
      if (k > 0) options.seeds = {FewNodes::control_of("node-0")};
      options.expect = size;
      options.topology.kind = kind;
      options.goal.rounds = goal;
      options.alone = alone;
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
  std::vector<std::string> events;  // of the honest
  FewNodes nodes{{.saw_output =
                      [this](const std::string& node, const Output& output, const std::string&) {
                        const auto* event = std::get_if<Event>(&output);
                        if (event && node != liar) events.push_back(node + ": " + event->text);
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

// Everything that a member with a valid key can say of another one, in turn: whatever liveness,
// age, phase, address and signature.
class Slander {
 public:
  Slander(int liar, std::size_t phases)
      : liar_(keyed_options(liar)), notary_(liar_.credentials, cluster(), id()), phases_(phases) {}

  NodeId id() const { return node_id(liar_.name); }
  // Changes what it says of others, and each time what it says of itself.
  void tell(std::vector<Rumor>& rumors) {
    for (Rumor& rumor : rumors) {
      if (rumor.member->id == id())
        rumor.member.change([this](Member& member) { flap(member); });
      else
        slander(rumor);
    }
  }
  // How often all has been said.
  std::size_t rounds() const { return said_ / (4 * 6 * phases_ * 2 * 4); }

 private:
  static std::uint64_t cluster() { return stable_hash(Options{}.cluster); }
  std::size_t turn(std::size_t& left, std::size_t choices) {
    return std::exchange(left, left / choices) % choices;
  }
  void slander(Rumor& rumor) {
    std::size_t left = said_++;
    Member member = rumor.member;
    rumor.liveness = static_cast<Liveness>(turn(left, 4));
    rumor.accuser = id();
    const std::size_t signature = turn(left, 4);
    const std::uint64_t versions[] = {member.version, member.version + 1, kVersionLimit - 1};
    const std::size_t age = turn(left, 6);
    member.version = age < 3 ? versions[age] : age == 3 ? 0 : member.version;
    member.incarnation += age == 4 ? 1 : age == 5 ? std::uint64_t{1} << 44 : 0;
    if (turn(left, 2) == 1) member.control.port = 1;
    if (const std::size_t phase = turn(left, phases_); phase > 0)
      member.phase = static_cast<Phase>(phase);
    if (signature == 1) member.signature.clear();
    if (signature == 2) rumor.accuser = node_id("node-1"), rumor.signature.assign(64, 'x');
    if (signature == 3) member.certificate.clear();
    rumor.member = member;
    sign(rumor);
  }
  void flap(Member& own) {
    own.version = ++flaps_ + (std::uint64_t{1} << 32);
    own.phase = static_cast<Phase>(flaps_ % phases_);
    if (own.phase == Phase::left) own.phase = Phase::training;
    own.save_at = flaps_ % 3;
  }
  // With its own key.
  void sign(Rumor& rumor) {
    Body body = Gossip{{rumor}};
    notary_.sign(body);
    rumor = std::get<Gossip>(body).rumors.front();
  }

  Options liar_;
  Notary notary_;
  std::size_t phases_, said_ = 0;
  std::uint64_t flaps_ = 0;
};

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
  Fleet fleet(2, topology::Kind::ring, 0, false, Alone::train);
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
      if (rumor.member->name == fleet.liar)
        rumor.member.change([](Member& member) { member.save_at = 1ULL << 47, ++member.version; });
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

TEST_CASE("A member with a valid key that lies about others by every rumor kills nobody") {
  constexpr std::size_t kSize = 7;
  const auto phases = static_cast<std::size_t>(Phase::resumed) + 1;
  Fleet fleet(kSize, topology::Kind::ring, 0, true);
  fleet.nodes.run(10s);
  std::map<std::string, std::uint64_t> before = fleet.steps;
  fleet.events.clear();
  Slander slander(kSize - 1, phases);
  Notary notary(keyed_options(kSize - 1).credentials, stable_hash(Options{}.cluster), slander.id());
  bool lies = true;
  fleet.nodes.lie([&](const std::string& from, Body& body) {
    std::vector<Rumor>* rumors = rumors_in(body);
    if (!lies || from != fleet.liar || !rumors) return;
    for (const MemberStatus& member : fleet.status(fleet.liar).members)
      if (!member.self) rumors->push_back({member.member});
    slander.tell(*rumors);
    notary.sign(body);
  });
  fleet.nodes.run(60s);
  CHECK(slander.rounds() >= 1);
  for (const std::string& event : fleet.events) {
    const bool is_of_death =
        event.find(" died") != std::string::npos || event.find(" left") != std::string::npos;
    if (is_of_death) CHECK_MESSAGE(event.find(fleet.liar) != std::string::npos, event);
  }
  for (const std::string& node : fleet.honest()) {
    CAPTURE(node);
    CHECK(fleet.steps.at(node) - before.at(node) > 150);
    const Status status = fleet.status(node);
    CHECK(status.members.size() == kSize);
    CHECK(status.rejected.size() <= 16);
    for (const char* reason : {"signature", "unsigned", "accusation", "farewell"})
      CHECK_MESSAGE(status.rejected.contains(reason), reason);
  }
  lies = false;
  fleet.nodes.run(10s);
  for (const std::string& node : fleet.honest())
    for (const MemberStatus& member : fleet.status(node).members) {
      CAPTURE(node);
      CAPTURE(member.member->name);
      const Status own = fleet.status(member.member->name);
      const auto self = std::ranges::find_if(own.members, &MemberStatus::self);
      CHECK(member.liveness == Liveness::alive);
      CHECK(member.member->incarnation == self->member->incarnation);
      CHECK(member.member->version == self->member->version);
      CHECK(member.member->phase == self->member->phase);
    }
}
