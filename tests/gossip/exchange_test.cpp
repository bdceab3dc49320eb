#include "gossip/exchange.h"

#include <doctest/doctest.h>

#include <span>

#include "tests/gossip/party.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

struct Trader : Party {
  explicit Trader(int index) : Party(party_options(index)), exchange(options) {}

  void want(const Party& peer, Time now) {
    membership.receive(now, Gossip{{{*peer.membership.find(peer.membership.self())}}}, outbox);
    links.open(1);
    links.want(now, {{peer.membership.self()}}, membership, outbox);
  }
  void offer(std::uint64_t round, Time now) {
    exchange.start_from(round);
    optim::Done done;
    done.is_offer = true;
    done.offer = Payload::copy_of(std::as_bytes(std::span("vector")));
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

}  // namespace

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
