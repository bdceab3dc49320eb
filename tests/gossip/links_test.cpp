#include "gossip/edges/links.h"

#include <doctest/doctest.h>

#include "tests/gossip/party.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

constexpr std::uint64_t kSchema = 42;

// Two nodes that know each other and want the edge between them.
struct Pair {
  explicit Pair(std::uint64_t incarnation = 1) : a(party_options(1, incarnation)) {
    introduce(a, b);
    introduce(b, a);
    for (Party* party : {&a, &b}) {
      party->links.open(now, kSchema);
      want(*party);
      party->said();
    }
  }
  void introduce(Party& to, Party& who) {
    to.membership.receive(now, {},
                          Gossip{{{*who.membership.roster().find(who.membership.roster().self())}}},
                          to.outbox);
  }
  void want(Party& party) {
    const NodeId peer = (&party == &a ? b : a).membership.roster().self();
    party.links.want(now, {{peer}}, party.membership.roster(), party.outbox);
  }
  // Hellos and goodbyes alone, as text: "epoch 1 echo 0".
  static std::vector<Said> talk(std::vector<Said> sends) {
    std::erase_if(sends, [](const Said& send) {
      return !std::holds_alternative<Hello>(send.message.body) &&
             !std::holds_alternative<Bye>(send.message.body);
    });
    return sends;
  }
  std::vector<Said> say(Party& party) {
    party.links.tick(now, party.outbox);
    return talk(party.said());
  }
  std::vector<Said> answer(Party& party, const std::vector<Said>& heard) {
    for (const Said& send : heard) party.hear(now, send.message);
    return talk(party.said());
  }
  bool is_active(Party& party) const {
    return party.links.active((&party == &a ? b : a).membership.roster().self()) != nullptr;
  }

  Time now{1s};
  Party a, b{party_options(2)};
};

const Hello& hello(const std::vector<Said>& sends) {
  REQUIRE(sends.size() == 1);
  return std::get<Hello>(sends.front().message.body);
}

}  // namespace

TEST_CASE("An edge opens by a question and an answer and its echo") {
  Pair pair;
  const auto question = pair.say(pair.a);
  CHECK(hello(question).echo == 0);
  const auto answer = pair.answer(pair.b, question);
  CHECK(hello(answer).echo == hello(question).epoch);
  CHECK_FALSE(pair.is_active(pair.b));
  const auto echo = pair.answer(pair.a, answer);
  CHECK(pair.is_active(pair.a));
  CHECK(hello(echo).echo == hello(answer).epoch);
  CHECK(pair.answer(pair.b, echo).empty());
  CHECK(pair.is_active(pair.b));
}

TEST_CASE("Questions that cross open the edge and end") {
  Pair pair;
  auto from_a = pair.say(pair.a), from_b = pair.say(pair.b);
  int messages = 0;
  while (!from_a.empty() || !from_b.empty()) {
    REQUIRE(++messages < 10);
    auto next_a = pair.answer(pair.a, from_b);
    from_b = pair.answer(pair.b, from_a);
    from_a = std::move(next_a);
  }
  CHECK(pair.is_active(pair.a));
  CHECK(pair.is_active(pair.b));
}

TEST_CASE("An edge opens at both ends whichever hello is lost") {
  for (int lost = 0; lost < 4; ++lost) {
    CAPTURE(lost);
    Pair pair;
    int sent = 0;
    const auto carry = [&](std::vector<Said> sends) {
      std::erase_if(sends, [&](const Said&) { return sent++ == lost; });
      return sends;
    };
    for (int turn = 0; turn < 20; ++turn) {
      pair.now += 1s;
      auto heard = carry(pair.say(pair.a));
      heard = carry(pair.answer(pair.b, heard));
      heard = carry(pair.answer(pair.a, heard));
      carry(pair.answer(pair.b, heard));
      heard = carry(pair.say(pair.b));
      heard = carry(pair.answer(pair.a, heard));
      carry(pair.answer(pair.b, heard));
    }
    CHECK(pair.is_active(pair.a));
    CHECK(pair.is_active(pair.b));
  }
}

TEST_CASE("Two models that differ get no edge and a reason") {
  Pair pair;
  pair.b.links.open(pair.now, kSchema + 1);
  pair.answer(pair.b, pair.say(pair.a));
  CHECK_FALSE(pair.is_active(pair.b));
  CHECK_FALSE(pair.b.links.all().begin()->second.refusal.empty());
}

TEST_CASE("A neighbour that comes back with other values gets no edge") {
  Pair pair;
  Member other = *pair.a.membership.roster().find(pair.b.membership.roster().self());
  ++other.version;
  ++other.agreement;
  pair.a.membership.receive(pair.now, {}, Gossip{{{other}}}, pair.a.outbox);
  CHECK(pair.answer(pair.a, pair.say(pair.b)).empty());
  CHECK(pair.a.links.all().begin()->second.peer_epoch == 0);
}

TEST_CASE("An open edge that is refused begins anew when it fits again") {
  Pair pair;
  const auto question = pair.say(pair.a);
  pair.answer(pair.b, pair.answer(pair.a, pair.answer(pair.b, question)));
  REQUIRE(pair.is_active(pair.a));
  const std::uint64_t before = pair.a.links.all().begin()->second.edge_id();
  pair.now += 6s;
  const auto honest = pair.say(pair.b);
  std::vector<Said> forged = honest;
  for (Said& send : forged) std::get<Hello>(send.message.body).schema = 7;
  pair.answer(pair.a, forged);
  CHECK_FALSE(pair.is_active(pair.a));
  for (auto said = pair.answer(pair.a, honest); !said.empty();)
    said = pair.answer(pair.a, pair.answer(pair.b, said));
  REQUIRE(pair.is_active(pair.a));
  CHECK(pair.a.links.all().begin()->second.edge_id() != before);
}

TEST_CASE("A goodbye closes the edge until the next hello") {
  Pair pair;
  pair.answer(pair.b, pair.answer(pair.a, pair.answer(pair.b, pair.say(pair.a))));
  REQUIRE(pair.is_active(pair.b));
  pair.a.links.want(pair.now, {}, pair.a.membership.roster(), pair.a.outbox);
  pair.answer(pair.b, Pair::talk(pair.a.said()));
  CHECK_FALSE(pair.is_active(pair.b));
  pair.want(pair.a);
  pair.answer(pair.b, pair.answer(pair.a, pair.answer(pair.b, pair.say(pair.a))));
  CHECK(pair.is_active(pair.a));
  CHECK(pair.is_active(pair.b));
}

TEST_CASE("A hello of an earlier incarnation opens no edge") {
  Pair pair;
  auto question = pair.say(pair.a);
  question.front().message.envelope.incarnation = 0;
  CHECK(pair.answer(pair.b, question).empty());
  CHECK(pair.b.links.all().begin()->second.peer_epoch == 0);
}

TEST_CASE("Two incarnations of a node give the same edge different epochs") {
  Pair first(1), second(2);
  CHECK(hello(first.say(first.a)).epoch != hello(second.say(second.a)).epoch);
}

TEST_CASE("A peer that starts again elsewhere before its hello gets the next one there") {
  Pair pair;
  pair.say(pair.a);
  Options options = party_options(2, 2);
  options.control.port = 9000;
  Party again(options);
  // Its earlier life is dead, so the new address is believed.
  const Member before = *pair.b.membership.roster().find(node_id("node-2"));
  pair.a.membership.refused(pair.now, {before.id, before.control}, pair.a.outbox);
  pair.a.membership.tick(pair.now += timing_of("lan").refused, pair.a.outbox);
  pair.introduce(pair.a, again);
  pair.want(pair.a);
  pair.a.said();
  pair.now += 100ms;
  const std::vector<Said> said = pair.say(pair.a);
  REQUIRE(said.size() == 1);
  CHECK(said.front().at == options.control);
  pair.introduce(again, pair.a);
  again.links.open(pair.now, kSchema);
  again.links.want(pair.now, {{node_id("node-1")}}, again.membership.roster(), again.outbox);
  again.said();
  pair.answer(pair.a, pair.answer(again, said));
  CHECK(pair.a.links.active(node_id("node-2")));
}
