#include "gossip/edges/exchange.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string>

#include "tests/gossip/party.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

struct Trader : Party {
  explicit Trader(int index, Missing missing = Missing::late)
      : Party(options_of(index, missing)), exchange(options) {}
  static Options options_of(int index, Missing missing) {
    Options options = party_options(index);
    options.missing = missing;
    return options;
  }
  void want(const Trader& peer, Time now) {
    membership.receive(now, {}, Gossip{{{peer.record()}}}, outbox);
    links.open(now, 1);
    links.want(now, {{peer.membership.roster().self()}}, membership.roster(), outbox);
  }
  bool complete(Time now) const { return exchange.outcome(now, links) != Outcome::open; }
  const Member& record() const { return *membership.roster().find(membership.roster().self()); }
  EdgeStatus edge() const {
    Status status;
    exchange.describe({}, links, ExchangeBudget({}, {}), status);
    return status.edges.front();
  }
  void offer(std::uint64_t round, Time now, std::size_t bytes = 7) {
    exchange.rounds().start(now, round);
    const std::string vector(bytes, 'v');
    optim::Done done;
    done.is_offer = true;
    done.offer = Payload::copy_of(std::as_bytes(std::span(vector)));
    exchange.offer(now, done, links, outbox);
  }
  void take(Time now, std::vector<Said> sends) {
    for (Said& send : sends) {
      hear(now, send.message);
      if (const auto* round = std::get_if<Round>(&send.message.body))
        exchange.receive(now, send.message.envelope, *round, std::move(send.message.payload), links,
                         membership.roster(), outbox);
    }
    exchange.links_changed(now, links, membership.roster(), outbox);
  }

  Exchange exchange;
};

// Until the edge between them is open at both ends; `b` has said something.
void hear_each_other(Trader& a, Trader& b, Time now) {
  for (int k = 0; k < 4; ++k) {
    a.take(now, b.said());
    b.take(now, a.said());
  }
  REQUIRE(a.links.active(b.membership.roster().self()));
  REQUIRE(b.links.active(a.membership.roster().self()));
}

void connect(Trader& a, Trader& b, Time now) {
  a.want(b, now);
  b.want(a, now);
  a.said(), b.said();
  b.links.tick(now, b.outbox);
  hear_each_other(a, b, now);
}

// Messages of one that hold a vector.
std::size_t vectors(const std::vector<Said>& sends) {
  return static_cast<std::size_t>(
      std::ranges::count_if(sends, [](const Said& send) { return !send.message.payload.empty(); }));
}

}  // namespace

namespace {

struct Pair {
  explicit Pair(Missing missing) : a(1, missing), b(2, missing) { connect(a, b, now); }
  // Both offer; the vector of `b` comes, that of `a` is under way.
  std::vector<Said> begin(std::size_t bytes) {
    a.offer(1, now, bytes);
    b.offer(1, now, bytes);
    a.take(now, b.said());
    CHECK(a.complete(now));
    CHECK_FALSE(b.complete(now));
    return a.said();
  }
  // `b` asks for what has not come.
  void ask() {
    later = b.exchange.next_tick();
    CHECK(later > now);
    CHECK(later <= now + 20ms);
    b.exchange.tick(later, b.links, b.outbox);
  }

  Time now{1s}, later{};
  Trader a, b;
};

void expect_one_resend_when_lost(Missing missing) {
  for (const std::size_t bytes : {7, 100'000}) {
    CAPTURE(bytes);
    Pair pair(missing);
    auto& [now, later, a, b] = pair;
    CHECK(vectors(pair.begin(bytes)) == 1);  // and is lost
    pair.ask();
    a.take(later, b.said());
    std::vector<Said> question = a.said();
    CHECK(vectors(question) == 0);  // it may be under way
    b.take(later, std::move(question));
    a.take(later, b.said());
    std::vector<Said> again = a.said();
    CHECK(vectors(again) == 1);
    b.take(later, std::move(again));
    CHECK(b.complete(later));
  }
}

void expect_no_resend_when_late(Missing missing) {
  Pair pair(missing);
  auto& [now, later, a, b] = pair;
  std::vector<Said> under_way = pair.begin(100'000);
  pair.ask();
  a.take(later, b.said());
  std::vector<Said> question = a.said();
  b.take(later, std::move(under_way));
  // The next vector is offered before the answer comes: the answer does not speak of that.
  a.offer(2, later, 100'000);
  CHECK(vectors(a.said()) == 1);
  b.take(later, std::move(question));
  a.take(later, b.said());
  CHECK(vectors(a.said()) == 0);
}

}  // namespace

TEST_CASE("A lost vector is asked for and sent again once") {
  expect_one_resend_when_lost(Missing::late);
  expect_one_resend_when_lost(Missing::reuse);
}

TEST_CASE("A vector under way is not retransmitted whatever is offered after it") {
  expect_no_resend_when_late(Missing::late);
  expect_no_resend_when_late(Missing::reuse);
}

TEST_CASE("A neighbour that was late is waited for again as soon as it is heard") {
  Pair pair(Missing::late);
  auto& [now, later, a, b] = pair;
  std::vector<Said> late = pair.begin(7);
  const Time end = b.exchange.deadline(b.links);
  CHECK(end == now + b.options.timing.patience_least);
  CHECK(b.complete(end));
  b.exchange.finish_round(end, b.links, b.outbox);
  for (std::uint64_t round = 2; round <= 40; ++round) {
    b.offer(round, end);
    CHECK(b.complete(end));
    b.exchange.finish_round(end, b.links, b.outbox);
  }
  b.take(end, std::move(late));
  b.offer(41, end);
  CHECK_FALSE(b.complete(end));
}

TEST_CASE("A node that joins waits for its neighbours' first vector as for a slow fleet") {
  Pair pair(Missing::late);
  auto& [now, later, a, b] = pair;
  b.offer(162, now);
  CHECK(b.exchange.deadline(b.links) == now + kBlindPatience);
}

TEST_CASE("A neighbour that was not measured may take as long as four of this node's rounds") {
  Pair pair(Missing::late);
  auto& [now, later, a, b] = pair;
  for (std::uint64_t round = 1; round <= 4; ++round) {
    b.offer(round, now + round * 5s);
    CHECK(b.edge().patience_s == (round < 4 ? seconds(b.options.timing.patience_least) : 20));
    b.exchange.finish_round(now + round * 5s, b.links, b.outbox);
  }
}

TEST_CASE("A node far ahead of all its neighbours waits unless they rest") {
  for (const bool is_refused : {false, true}) {
    CAPTURE(is_refused);
    Pair pair(Missing::late);
    auto& [now, later, a, b] = pair;
    b.take(now, pair.begin(7));
    b.exchange.finish_round(now, b.links, b.outbox);
    b.offer(2, now);
    const Time end = b.exchange.deadline(b.links);
    for (std::uint64_t round = 2; round <= 9; ++round) {
      if (round > 2) b.offer(round, end);
      REQUIRE(b.complete(end));
      b.exchange.finish_round(end, b.links, b.outbox);
    }
    if (is_refused) b.exchange.neighbors().refused(node_id(a.options.name));
    b.offer(10, end);
    CHECK(b.complete(end) == is_refused);
    CHECK(b.complete(end + 60s));
    a.exchange.finish_round(end, a.links, a.outbox);
    a.offer(2, end);
    b.take(end, a.said());
    b.offer(10, end);
    CHECK_FALSE(b.complete(end));  // it is waited for again, in its own time
    CHECK(b.complete(end + 30s));
  }
}

TEST_CASE("A round that no node can have reached is not believed") {
  Pair pair(Missing::late);
  auto& [now, later, a, b] = pair;
  std::vector<Said> sends = pair.begin(7);
  for (Said& send : sends) std::get<Round>(send.message.body).round = 1'000'000'000;
  b.take(now, std::move(sends));
  CHECK_FALSE(b.complete(now));
  CHECK(b.edge().rejected.at("round") == 1);
}

TEST_CASE("A false round in the members' table makes no false round of a neighbour believed") {
  for (const std::uint64_t of_third : {9, 5'000'000}) {
    CAPTURE(of_third);
    const Time now{1s};
    Trader a(1), b(2), third(3);
    a.membership.set_self({.phase = Phase::training, .round = 7'000'000});
    third.membership.set_self({.phase = Phase::training, .round = of_third});
    b.membership.receive(now, {}, Gossip{{{third.record()}}}, b.outbox);
    connect(a, b, now);
    b.exchange.rounds().start(now, 8);
    a.offer(5'000'000, now);
    b.take(now, a.said());
    CHECK(b.edge().round == (of_third == 9 ? 0 : 5'000'000));
  }
}

TEST_CASE("An unlikely round is believed when the next message confirms it") {
  Pair pair(Missing::late);
  auto& [now, later, a, b] = pair;
  b.take(now, pair.begin(7));
  const auto expect_rejected = [&](std::uint64_t round, std::uint64_t count) {
    a.offer(round, now);
    b.take(now, a.said());
    CHECK(b.edge().rejected["round"] == count);
  };
  expect_rejected(100'000, 1);
  expect_rejected(100'065, 2);  // a wrong number that follows another
  expect_rejected(100'067, 2);
  CHECK(b.edge().round == 100'067);
  b.exchange.finish_round(now, b.links, b.outbox);
  CHECK(b.exchange.rounds().round() == 100'067);
}

TEST_CASE("The same false round twice is not believed with an honest one in between") {
  Pair pair(Missing::late);
  auto& [now, later, a, b] = pair;
  b.take(now, pair.begin(7));
  const auto hear = [&](std::uint64_t round) {
    a.offer(8, now);
    std::vector<Said> sends = a.said();
    for (Said& send : sends) std::get<Round>(send.message.body).round = round;
    b.take(now, std::move(sends));
  };
  hear(2'097'151);
  hear(9);
  hear(2'097'151);
  CHECK(b.edge().rejected["round"] == 2);
  CHECK(b.edge().round == 9);
}

TEST_CASE("A node does not wait for a neighbour further ahead whose offer is older than the edge") {
  const Time now{1s};
  Trader behind(1), ahead(2);
  ahead.offer(6, now);
  connect(behind, ahead, now);
  behind.offer(1, now);
  CHECK_FALSE(behind.complete(now));
  const Time later = behind.exchange.next_tick();
  behind.exchange.tick(later, behind.links, behind.outbox);
  ahead.take(later, behind.said());
  behind.take(later, ahead.said());
  for (std::uint64_t round = 1; round <= 6; ++round) {
    CHECK(behind.complete(later));
    behind.exchange.finish_round(later, behind.links, behind.outbox);
    behind.offer(round + 1, later);
  }
  CHECK_FALSE(behind.complete(later));  // both are in step
}

TEST_CASE("A neighbour that catches up is waited for as long as it is heard") {
  Pair pair(Missing::late);
  auto& [now, later, a, b] = pair;
  b.take(now, pair.begin(7));
  b.exchange.finish_round(now, b.links, b.outbox);
  b.offer(4, now);
  for (std::uint64_t round = 2; round <= 4; ++round) {
    const Time end = b.exchange.deadline(b.links);
    CHECK(end >= now + b.options.timing.patience_least);
    now = end - 1ms;
    a.exchange.finish_round(now, a.links, a.outbox);
    a.offer(round, now);
    b.take(now, a.said());
    CHECK(b.complete(now) == (round == 4));
  }
}

TEST_CASE("Vectors of the same round are paired again in either order of arrival") {
  for (const bool is_heard_first : {false, true}) {
    CAPTURE(is_heard_first);
    Pair pair(Missing::late);
    auto& [now, later, a, b] = pair;
    a.offer(1, now);
    a.offer(2, now);  // without `b`, which then begins with round 2
    b.take(now, a.said());
    b.offer(2, now);
    a.take(now, b.said());
    const auto go_on = [&](std::uint64_t round) {
      a.exchange.finish_round(now, a.links, a.outbox);
      b.exchange.finish_round(now, b.links, b.outbox);
      b.offer(round, now);
      std::vector<Said> sends = b.said();
      if (is_heard_first) a.take(now, sends);
      a.offer(round, now);
      if (!is_heard_first) a.take(now, std::move(sends));
      return vectors(a.said());
    };
    CHECK(go_on(3) == 0);
    CHECK(go_on(4) == 1);
    CHECK(go_on(5) == 1);
  }
}

TEST_CASE("An edge tells how much of its vectors the codec carries") {
  Pair pair(Missing::late);
  auto& [now, later, a, b] = pair;
  const auto offer = [&](std::uint64_t edge, double quality) {
    a.exchange.rounds().start(now, a.exchange.rounds().round() + 1);
    optim::Done done;
    done.is_offer = true;
    done.edge_offers = {{.edge = edge, .payload = Payload::copy_of({}), .quality = quality}};
    a.exchange.offer(now, done, a.links, a.outbox);
  };
  CHECK(a.edge().codec_quality == 1);
  const std::uint64_t edge = a.links.active(b.membership.roster().self())->edge_id();
  offer(edge, 0.75);
  CHECK(a.edge().codec_quality == 0.75);
  offer(edge + 1, 0.5);  // a round in which this edge takes no part
  CHECK(a.edge().codec_quality == 0.75);
}

TEST_CASE(
    "A neighbour that takes the same steps is named unless nothing moved or it was built in") {
  Pair pair(Missing::late);
  auto& [now, later, a, b] = pair;
  pair.begin(7);
  const auto rounds = [&, peer = b.membership.roster().self()](int count, double distance,
                                                               bool loop_moved) {
    optim::Done done;
    done.stats.steps = 1;
    done.stats.loop_moved = loop_moved;
    done.stats.distances = {{.peer = peer, .distance = distance}};
    for (int round = 0; round < count; ++round) a.exchange.note(now, done);
    return a.exchange.neighbors().warnings(a.links);
  };
  CHECK(rounds(20, 0, false).empty());
  CHECK(rounds(5, 0, true).empty());  // the steps before the first of these moved nothing
  const auto warnings = rounds(1, 0, true);
  CHECK(warnings.at(0).starts_with("node-2's trainer takes the same steps as this node's"));
  CHECK(rounds(1, 1e-30, true).empty());
  CHECK(rounds(4, 0, true).empty());
}

TEST_CASE("The size of a vector is known also where each neighbour has one of its own") {
  Offering offering;
  optim::Done done;
  CHECK(offering.vector_bytes() == 0);
  for (const std::size_t bytes : {50, 400, 50}) {
    const std::vector<std::byte> vector(bytes);
    done.edge_offers.push_back(
        {.edge = done.edge_offers.size(), .payload = Payload::copy_of(vector)});
  }
  offering.begin(1, done, 1, 1);
  CHECK(offering.vector_bytes() == 400);
}

TEST_CASE("An edge whose ends count differently begins anew") {
  const auto has_seen_too_much = [](Round& round) { round.seen = 1000; };
  const auto goes_back = [](Round& round) { round.received = round.offered = 0; };
  const auto closes = [](Round& round) { round.closes = true; };
  for (const std::function<void(Round&)>& forge :
       std::initializer_list<std::function<void(Round&)>>{has_seen_too_much, goes_back, closes}) {
    Pair pair(Missing::late);
    auto& [now, later, a, b] = pair;
    b.take(now, pair.begin(7));
    b.exchange.finish_round(now, b.links, b.outbox);
    b.said();
    b.offer(2, now);
    std::vector<Said> sends = b.said();
    a.take(now, sends);
    a.exchange.finish_round(now, a.links, a.outbox);
    a.offer(2, now);
    a.said();
    CHECK(a.exchange.sessions().take_broken().empty());
    ++sends.front().message.envelope.sequence;
    Round& round = std::get<Round>(sends.front().message.body);
    ++round.order;
    forge(round);
    a.take(now, sends);
    a.exchange.tick(now + 2s, a.links, a.outbox);
    REQUIRE(a.exchange.sessions().take_broken() == std::vector{b.membership.roster().self()});
    const std::uint64_t before = a.links.active(b.membership.roster().self())->edge_id();
    a.links.restart(now, b.membership.roster().self(), "test", Duration{}, a.outbox);
    a.links.tick(now, a.outbox);
    hear_each_other(b, a, now);
    CHECK(a.links.active(b.membership.roster().self())->edge_id() != before);
    b.exchange.tick(now + 5s, b.links, b.outbox);
    a.exchange.tick(now + 5s, a.links, a.outbox);
    CHECK(a.exchange.sessions().take_broken().empty());
    CHECK(b.exchange.sessions().take_broken().empty());
  }
}

TEST_CASE("A round does not wait for a newcomer that it has not offered to") {
  constexpr Time now{1s};
  Trader old(1), newcomer(2);
  old.want(newcomer, now);
  newcomer.want(old, now);
  old.said(), newcomer.said();
  old.offer(8, now);
  newcomer.links.tick(now, newcomer.outbox);
  hear_each_other(old, newcomer, now);
  newcomer.offer(7, now);
  CHECK_FALSE(newcomer.complete(now));
  old.take(now, newcomer.said());
  CHECK(old.complete(now));
  // It takes part from the next round on.
  old.offer(9, now);
  CHECK_FALSE(old.complete(now));
  newcomer.take(now, old.said());
  CHECK(newcomer.complete(now));
}

TEST_CASE("A neighbour that is gone before it was told an estimate leaves nothing in the means") {
  constexpr Time now{1s};
  Trader a(1), b(2);
  connect(a, b, now);
  const NodeId peer = b.membership.roster().self();
  Sample sample;
  sample.values[0] = 1;
  a.exchange.means().set(sample);
  const std::vector<float> zero(a.exchange.means().estimate().size(), 0.0F);
  a.exchange.means().receive(peer, 0, zero, zero);
  a.exchange.means().update();
  CHECK(a.exchange.means().status().spreads[0]->mean == doctest::Approx(1));
  CHECK(a.exchange.means().flow(peer) != zero);
  a.links.want(now, {}, a.membership.roster(), a.outbox);
  a.exchange.links_changed(now, a.links, a.membership.roster(), a.outbox);
  CHECK(a.exchange.means().flow(peer) == zero);
}

TEST_CASE("An edge that begins to carry vectors to the peer carries that of the round at once") {
  constexpr Time now{1s};
  Trader a(1, Missing::reuse), b(2, Missing::reuse);
  connect(a, b, now);
  const NodeId peer = b.membership.roster().self();
  const auto want = [&](bool out) {
    a.links.want(now, {{.peer = peer, .in = true, .out = out}}, a.membership.roster(), a.outbox);
    a.exchange.links_changed(now, a.links, a.membership.roster(), a.outbox);
    return vectors(a.said());
  };
  want(false);
  a.offer(1, now);
  CHECK(vectors(a.said()) == 0);
  CHECK(want(true) == 1);
  CHECK(want(true) == 0);
}
