#include "gossip/members/prober.h"

#include <doctest/doctest.h>

#include <set>
#include <variant>
#include <vector>

#include "tests/gossip/party.h"

using namespace starling;
using namespace std::chrono_literals;

namespace {

gossip::Member member(int index) {
  const gossip::Options options = test::party_options(index);
  gossip::Member made;
  made.id = node_id(options.name);
  made.name = options.name;
  made.control = options.control;
  return made;
}

// A prober with what it said; nobody answers but as told.
struct Asking {
  explicit Asking(std::vector<gossip::Member> others) : members(std::move(others)) {
    outbox.begin(out);
    for (const gossip::Member& other : members) targets.push_back(other.id);
    view.self = &self;
    view.targets = targets;
    view.find = [this](NodeId id) -> const gossip::Member* {
      const auto found = std::ranges::find(this->members, id, &gossip::Member::id);
      return found == this->members.end() ? nullptr : &*found;
    };
    view.news = [](NodeId) { return std::vector<gossip::Rumor>{}; };
  }
  std::vector<gossip::Probe> tick(Time now) {
    silent = prober.tick(now, view, outbox);
    std::vector<gossip::Probe> asked;
    for (const gossip::Output& output : std::exchange(out, {}))
      if (const auto* send = std::get_if<gossip::Send>(&output))
        asked.push_back(std::get<gossip::Probe>(send->message.body));
    return asked;
  }
  void answer(Time now, const gossip::Probe& question) {
    prober.receive(now, question.subject,
                   {gossip::Probe::Kind::ack, question.number, question.subject, {}, {}}, view,
                   node_id("node-0"), outbox);
  }

  gossip::Member self = member(0);
  std::vector<gossip::Member> members;
  std::vector<NodeId> targets;
  gossip::Prober::View view;
  gossip::Timing timing = gossip::timing_of("lan");
  gossip::Prober prober{timing, 1, Time{}};
  gossip::Outbox outbox{1, node_id("node-0"), 1};
  gossip::Outputs out;
  std::vector<gossip::Prober::Silence> silent;
};

std::vector<gossip::Member> members(int count) {
  std::vector<gossip::Member> made;
  for (int k = 1; k <= count; ++k) made.push_back(member(k));
  return made;
}

}  // namespace

TEST_CASE("A probe sent in bad health does not outlast the bad health") {
  Asking asking({member(1), member(2)});
  asking.prober.was_away(1min);
  REQUIRE(asking.prober.stretch() == 9);
  const auto first = asking.tick(Time{});
  REQUIRE(first.size() == 1);
  CHECK(asking.prober.patience() == 9 * asking.timing.answer);

  // The other one answers at once, time after time, until this node is in good health again.
  Time now{};
  while (asking.prober.stretch() > 1) {
    asking.prober.doubt(now, first[0].subject == asking.members[0].id ? asking.members[1].id
                                                                      : asking.members[0].id);
    const auto next = asking.tick(now);
    REQUIRE(next.size() == 1);
    asking.answer(now += 1ms, next[0]);
  }
  CHECK(asking.prober.deadline() <= Time{} + asking.timing.answer);
  const auto requests = asking.tick(Time{} + asking.timing.answer);
  REQUIRE(!requests.empty());
  CHECK(requests[0].kind == gossip::Probe::Kind::request);
  CHECK(asking.silent.empty());
  asking.tick(Time{} + 3 * asking.timing.answer);
  REQUIRE(asking.silent.size() == 1);
  CHECK(asking.silent[0].member == first[0].subject);
  CHECK(asking.silent[0].since == Time{});
}

TEST_CASE("Many members that die together are all probed within a few patiences") {
  Asking asking(members(32));
  std::set<NodeId> asked;
  Time now{};
  while (asked.size() < 32 && now < Time(5s)) {
    now = asking.prober.deadline();
    for (const gossip::Probe& probe : asking.tick(now)) {
      if (probe.kind == gossip::Probe::Kind::ping) asked.insert(probe.subject);
      // The system says at once that nobody listens.
      if (probe.kind == gossip::Probe::Kind::request) asking.prober.refused(probe.subject);
    }
  }
  CHECK(asked.size() == 32);
  CHECK(now <= Time(3s));
  CHECK(asking.prober.stretch() == 1);
}
