#include "gossip/exchange.h"

#include <doctest/doctest.h>

#include <algorithm>
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

  void want(const Party& peer, Time now) {
    membership.receive(now, Gossip{{{*peer.membership.find(peer.membership.self())}}}, outbox);
    links.open(1);
    links.want(now, {{peer.membership.self()}}, membership, outbox);
  }
  void offer(std::uint64_t round, Time now, std::size_t bytes = 7) {
    exchange.start_from(round);
    const std::string vector(bytes, 'v');
    optim::Done done;
    done.is_offer = true;
    done.offer = Payload::copy_of(std::as_bytes(std::span(vector)));
    exchange.offer(now, done, links, outbox);
  }
  void take(Time now, std::vector<Send> sends) {
    for (Send& send : sends) {
      hear(now, send.message);
      if (const auto* round = std::get_if<Round>(&send.message.body))
        exchange.receive(now, send.message.envelope, *round, std::move(send.message.payload), links,
                         outbox);
    }
    exchange.links_changed(now, links, membership, outbox);
  }

  Exchange exchange;
};

void connect(Trader& a, Trader& b, Time now) {
  a.want(b, now);
  b.want(a, now);
  a.said(), b.said();
  b.links.tick(now, b.outbox);
  for (int k = 0; k < 3; ++k) {
    a.take(now, b.said());
    b.take(now, a.said());
  }
  REQUIRE(a.links.active(b.membership.self()));
  REQUIRE(b.links.active(a.membership.self()));
}

// Messages of one that hold a vector.
std::size_t vectors(const std::vector<Send>& sends) {
  return static_cast<std::size_t>(
      std::ranges::count_if(sends, [](const Send& send) { return !send.message.payload.empty(); }));
}

}  // namespace

TEST_CASE("A lost vector that is not numbered is asked for and sent again") {
  constexpr Time now{1s};
  Trader a(1, Missing::reuse), b(2, Missing::reuse);
  connect(a, b, now);
  a.offer(1, now);
  b.offer(1, now);
  a.take(now, b.said());
  CHECK(vectors(a.said()) == 1);  // and is lost
  CHECK(a.exchange.complete(now, a.links));
  CHECK_FALSE(b.exchange.complete(now, b.links));

  const Time later = b.exchange.next_tick();
  CHECK(later > now);
  CHECK(later <= now + 20ms);
  b.exchange.tick(later, b.links, b.outbox);
  a.take(later, b.said());
  std::vector<Send> again = a.said();
  CHECK(vectors(again) == 1);
  b.take(later, std::move(again));
  CHECK(b.exchange.complete(later, b.links));
  // Nothing goes to and fro without end.
  a.take(later, b.said());
  CHECK(vectors(a.said()) == 0);
  b.exchange.tick(later + 1s, b.links, b.outbox);
  CHECK(b.said().empty());
}

TEST_CASE("A large vector that may be under way is sent again only when it is not") {
  constexpr Time now{1s};
  constexpr std::size_t kLarge = 100'000;
  Trader a(1, Missing::reuse), b(2, Missing::reuse);
  connect(a, b, now);
  a.offer(1, now, kLarge);
  b.offer(1, now, kLarge);
  a.take(now, b.said());
  std::vector<Send> under_way = a.said();
  const Time later = b.exchange.next_tick();
  b.exchange.tick(later, b.links, b.outbox);
  a.take(later, b.said());
  std::vector<Send> question = a.said();
  CHECK(vectors(question) == 0);
  SUBCASE("it was") {
    b.take(later, std::move(under_way));
    b.take(later, std::move(question));
    a.take(later, b.said());
    CHECK(vectors(a.said()) == 0);
  }
  SUBCASE("it was lost") {
    b.take(later, std::move(question));
    a.take(later + 20ms, b.said());
    std::vector<Send> again = a.said();
    CHECK(vectors(again) == 1);
    b.take(later + 20ms, std::move(again));
    CHECK(b.exchange.complete(later + 20ms, b.links));
  }
}

TEST_CASE("Nobody waits for a newcomer that it has not offered to") {
  constexpr Time now{1s};
  Trader old(1), newcomer(2);
  old.want(newcomer, now);
  newcomer.want(old, now);
  old.said(), newcomer.said();
  old.offer(8, now);
  newcomer.links.tick(now, newcomer.outbox);
  for (int k = 0; k < 3; ++k) {
    old.take(now, newcomer.said());
    newcomer.take(now, old.said());
  }
  REQUIRE(old.links.active(newcomer.membership.self()));
  REQUIRE(newcomer.links.active(old.membership.self()));
  newcomer.offer(7, now);
  CHECK_FALSE(newcomer.exchange.complete(now, newcomer.links));
  old.take(now, newcomer.said());
  CHECK(old.exchange.complete(now, old.links));
  // It takes part from the next round on.
  old.offer(9, now);
  CHECK_FALSE(old.exchange.complete(now, old.links));
  newcomer.take(now, old.said());
  CHECK(newcomer.exchange.complete(now, newcomer.links));
}
