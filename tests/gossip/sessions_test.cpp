// What one edge's conversation promises, whatever is lost: direct tests of Sessions.
#include "gossip/edges/sessions.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "gossip/wire/transfer.h"
#include "tests/gossip/party.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

constexpr Sessions::Waits kWaits{.usual = 200ms, .idle = 400ms};

// One end of an edge.
struct End : Party {
  explicit End(int index) : Party(party_options(index)) {}

  void want(const End& peer, Time now) {
    membership.receive(now, {},
                       Gossip{{{*peer.membership.roster().find(peer.membership.roster().self())}}},
                       outbox);
    links.open(now, 1);
    links.want(now, {{peer.membership.roster().self()}}, membership.roster(), outbox);
  }
  const Link& link() const { return links.all().begin()->second; }
  // Sends what Exchange would send. Returns whether that holds a vector.
  bool offer(std::uint64_t round, Time now, bool skips_round = false) {
    const std::string vector(7, 'v');
    const Payload payload = Payload::copy_of(std::as_bytes(std::span(vector)));
    Round message;
    message.round = round;
    const bool takes_part =
        sessions.offer(now, link(), {{round, 0.5}, payload}, skips_round, kWaits, message);
    outbox.send(link().wanted.peer, message, takes_part ? payload : Payload());
    return takes_part;
  }
  std::vector<Sessions::Heard> take(Time now, const std::vector<Said>& sends,
                                    bool is_idle = false) {
    std::vector<Sessions::Heard> heard;
    for (const Said& send : sends) {
      hear(now, send.message);
      if (const auto* round = std::get_if<Round>(&send.message.body))
        heard.push_back(sessions.receive(now, send.message.envelope, *round, send.message.payload,
                                         links, is_idle, outbox));
    }
    return heard;
  }
  // The numbers of the whole pairs that were not given before.
  std::vector<std::uint64_t> pairs() {
    std::vector<std::uint64_t> numbers;
    for (const Sessions::Mixable& mixable : sessions.take()) numbers.push_back(mixable.pair.number);
    return numbers;
  }
  bool is_settled() const { return sessions.is_settled(membership.roster()); }

  Sessions sessions;
};

std::size_t vectors(const std::vector<Said>& sends) {
  return static_cast<std::size_t>(
      std::ranges::count_if(sends, [](const Said& send) { return !send.message.payload.empty(); }));
}

struct Edge {
  Edge() {
    a.want(b, now), b.want(a, now);
    b.links.tick(now, b.outbox);
    for (int k = 0; k < 4; ++k) pass();
    REQUIRE(a.link().active);
    REQUIRE(b.link().active);
  }
  // What both have said arrives.
  void pass() {
    a.take(now, b.said());
    b.take(now, a.said());
  }
  // Until nobody has anything to say.
  void talk(Duration duration) {
    for (const Time end = now + duration; now < end; now += 10ms) {
      a.sessions.tick(now, a.outbox);
      b.sessions.tick(now, b.outbox);
      pass();
    }
  }

  Time now{1s};
  End a{1}, b{2};
};

using Numbers = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("Vectors of the same number make one pair that each end takes once") {
  Edge edge;
  for (std::uint64_t round = 1; round <= 3; ++round) {
    CHECK(edge.a.offer(round, edge.now));
    CHECK(edge.a.pairs().empty());
    CHECK(edge.b.offer(round, edge.now));
    edge.pass();
    CHECK(edge.a.pairs() == Numbers{round});
    CHECK(edge.b.pairs() == Numbers{round});
    CHECK_FALSE(edge.a.sessions.has_pairs());
  }
}

TEST_CASE("A vector that comes again is known and makes no second pair") {
  Edge edge;
  edge.a.offer(1, edge.now);
  edge.b.offer(1, edge.now);
  const std::vector<Said> sends = edge.a.said();
  CHECK(edge.b.take(edge.now, sends) == std::vector{Sessions::Heard::fresh});
  CHECK(edge.b.pairs() == Numbers{1});
  CHECK(edge.b.take(edge.now, sends) == std::vector{Sessions::Heard::known});
  CHECK(edge.b.pairs().empty());
}

TEST_CASE("A message of another opening of the edge is dropped") {
  Edge edge;
  edge.b.offer(1, edge.now);
  edge.a.offer(1, edge.now);
  std::vector<Said> sends = edge.a.said();
  ++std::get<Round>(sends.front().message.body).epoch;
  CHECK(edge.b.take(edge.now, sends) == std::vector{Sessions::Heard::foreign});
  CHECK(edge.b.pairs().empty());
}

TEST_CASE("A node that skips a round names the round and sends no vector") {
  Edge edge;
  CHECK_FALSE(edge.a.offer(4, edge.now, true));
  const std::vector<Said> sends = edge.a.said();
  REQUIRE(sends.size() == 1);
  const auto& message = std::get<Round>(sends.front().message.body);
  CHECK(message.round == 4);
  CHECK(message.number == 0);
  CHECK(message.offered == 0);
  CHECK(vectors(sends) == 0);
}

TEST_CASE("A node that is beyond a round says so to a peer that waits in it") {
  Edge edge;
  REQUIRE(edge.a.offer(4, edge.now));
  edge.b.sessions.skip(6);
  edge.pass();
  edge.now += kWaits.usual * 3 / 2 + 1s;
  edge.a.sessions.tick(edge.now, edge.a.outbox);  // asks
  edge.b.take(edge.now, edge.a.said());
  const std::vector<Said> answers = edge.b.said();
  REQUIRE(answers.size() == 1);
  CHECK(std::get<Round>(answers.front().message.body).round == 6);
}

TEST_CASE("At most one pair waits for the peer when the next vector is offered") {
  Edge edge;
  std::uint64_t round = 0, sent = 0;
  while (round < 10) sent += edge.a.offer(++round, edge.now);
  CHECK(sent == EdgeLedger::kLateLimit + 1);
  CHECK(edge.a.sessions.pairs(edge.b.membership.roster().self()).is_waiting);
  edge.a.said();  // and is lost
}

TEST_CASE("The first chunks of a vector acknowledge what the peer has") {
  Edge edge;
  const NodeId peer = edge.b.membership.roster().self();
  edge.a.offer(1, edge.now);
  edge.b.offer(1, edge.now);
  edge.pass();
  edge.a.pairs();
  edge.b.offer(2, edge.now);
  const std::vector<Said> next = edge.b.said();
  const Envelope& from = next.front().message.envelope;
  const auto& round = std::get<Round>(next.front().message.body);
  CHECK(edge.a.sessions.unconfirmed_bytes(peer) > 0);
  edge.a.sessions.hear_part(edge.now,
                            {.sender = from.sender,
                             .transfer = transfer_of(from.incarnation, round.epoch, round.number),
                             .bytes = 3,
                             .received = round.received,
                             .beyond = round.beyond});
  CHECK(edge.a.sessions.unconfirmed_bytes(peer) == 0);
}

TEST_CASE("A vector that came in part is retransmitted from its first missing byte") {
  Edge edge;
  edge.a.offer(1, edge.now);
  const std::vector<Said> first = edge.a.said();
  const auto& lost = std::get<Round>(first.front().message.body);
  edge.b.offer(1, edge.now);
  edge.b.said();
  const Envelope& from = first.front().message.envelope;
  edge.b.sessions.hear_part(edge.now,
                            {.sender = from.sender,
                             .transfer = transfer_of(from.incarnation, lost.epoch, lost.number),
                             .bytes = 3});
  edge.a.offer(2, edge.now);  // shows that the rest of the first is lost
  edge.b.take(edge.now, edge.a.said(), true);
  edge.a.take(edge.now, edge.b.said());
  const std::vector<Said> again = edge.a.said();
  REQUIRE(vectors(again) == 1);
  CHECK(std::get<Round>(again.front().message.body).number == 1);
  CHECK(again.front().from == 3);
  CHECK(edge.a.sessions.repeated_bytes(edge.b.membership.roster().self()) == 4);
}

TEST_CASE("Questions grow rarer up to a limit while no answer comes") {
  Edge edge;
  edge.a.offer(1, edge.now);
  edge.a.said();
  edge.a.sessions.go_on(edge.now);
  std::vector<Duration> pauses;
  for (int k = 0; k < 40; ++k) {
    const Time next = edge.a.sessions.deadline();
    REQUIRE(next > edge.now);
    pauses.push_back(next - edge.now);
    edge.now = next;
    edge.a.sessions.tick(edge.now, edge.a.outbox);
    const std::vector<Said> asked = edge.a.said();
    REQUIRE(asked.size() == 1);
    CHECK(std::get<Round>(asked.front().message.body).asks);
    CHECK(vectors(asked) == 0);
  }
  CHECK(std::ranges::is_sorted(pauses));
  CHECK(pauses.back() == kPauseLimit);
}

TEST_CASE("The next vector of an edge has the number after the last until the edge closes") {
  Edge edge;
  CHECK(edge.a.sessions.next_number(edge.a.link()) == 1);
  edge.a.offer(1, edge.now);
  CHECK(edge.a.sessions.next_number(edge.a.link()) == 2);
  edge.a.offer(2, edge.now);
  CHECK_FALSE(edge.a.sessions.next_number(edge.a.link()));  // two wait for their halves
  edge.a.sessions.close_all(edge.now, edge.a.outbox);
  CHECK_FALSE(edge.a.sessions.next_number(edge.a.link()));
}

TEST_CASE("A settled edge asks nothing") {
  Edge edge;
  edge.a.offer(1, edge.now);
  edge.b.offer(1, edge.now);
  edge.pass();
  CHECK(edge.a.pairs() == Numbers{1});
  CHECK(edge.b.pairs() == Numbers{1});
  edge.a.sessions.close_all(edge.now, edge.a.outbox);
  edge.b.sessions.close_all(edge.now, edge.b.outbox);
  edge.talk(2s);
  CHECK(edge.a.is_settled());
  CHECK(edge.b.is_settled());
  CHECK(edge.a.sessions.deadline() == kNever);
  CHECK(edge.b.sessions.deadline() == kNever);
}

TEST_CASE("A pair that was open when the edge closed is mixed at both ends") {
  Edge edge;
  edge.a.offer(1, edge.now);
  edge.b.offer(1, edge.now);
  edge.a.said(), edge.b.said();  // both vectors are lost
  edge.a.sessions.close_all(edge.now, edge.a.outbox);
  edge.b.sessions.close_all(edge.now, edge.b.outbox);
  CHECK_FALSE(edge.a.is_settled());
  CHECK(edge.a.sessions.unsettled() == 1);
  edge.talk(2s);
  CHECK(edge.a.pairs() == Numbers{1});
  CHECK(edge.b.pairs() == Numbers{1});
  edge.talk(2s);
  CHECK(edge.a.is_settled());
  CHECK(edge.b.is_settled());
}

TEST_CASE("A vector that the peer never answered does not keep a closing edge unsettled") {
  Edge edge;
  edge.a.offer(1, edge.now);
  edge.pass();
  edge.a.sessions.close_all(edge.now, edge.a.outbox);
  edge.b.sessions.close_all(edge.now, edge.b.outbox);
  edge.talk(2s);
  CHECK(edge.a.pairs().empty());
  CHECK(edge.b.pairs().empty());
  CHECK(edge.a.is_settled());
  CHECK(edge.b.is_settled());
}

TEST_CASE("A node that leaves waits for no pair with a member that is dead") {
  Edge edge;
  edge.a.offer(1, edge.now);
  edge.b.offer(1, edge.now);
  edge.a.take(edge.now, edge.b.said());
  CHECK(edge.a.pairs() == Numbers{1});
  edge.a.sessions.close_all(edge.now, edge.a.outbox);
  CHECK_FALSE(edge.a.is_settled());
  const Roster& members = edge.a.membership.roster();
  for (const Time end = edge.now + 20s; edge.now < end; edge.now += 100ms)
    edge.a.membership.tick(edge.now, edge.a.outbox);
  REQUIRE(members.entry(edge.b.membership.roster().self())->liveness == Liveness::dead);
  CHECK(edge.a.is_settled());
}

TEST_CASE("Sessions that close without an end are given up when they are too many") {
  Edge edge;
  std::uint64_t lives = 0;
  while (edge.a.sessions.abandoned() == 0 && lives < 200) {
    ++lives;
    edge.a.offer(lives, edge.now);
    edge.a.said();
    edge.a.sessions.close_all(edge.now, edge.a.outbox);
    edge.a.links.restart(edge.now, edge.b.membership.roster().self(), "test", Duration{},
                         edge.a.outbox);
    edge.a.links.tick(edge.now, edge.a.outbox);
    for (int k = 0; k < 3; ++k) {
      edge.b.take(edge.now, edge.a.said());
      for (const Said& send : edge.b.said())
        if (!std::holds_alternative<Round>(send.message.body)) edge.a.hear(edge.now, send.message);
    }
    REQUIRE(edge.a.link().active);
  }
  CHECK(edge.a.sessions.unsettled() == 64);
  CHECK(lives == 65);
}
