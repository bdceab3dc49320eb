#include "gossip/edges/pairing.h"

#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "tests/gossip/party.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;
using namespace std::chrono_literals;

namespace {

Options pairwise_options(int index, bool counts_flows = false) {
  Options options = party_options(index);
  options.schedule = Schedule::pairwise;
  options.needs.is_pairwise = true;
  if (counts_flows) options.needs.delivery = optim::Delivery::exactly_once;
  return options;
}

// A node with open edges to others, and what it has proposed to whom.
struct Pairer : Party {
  explicit Pairer(std::vector<Party*> others, bool counts_flows)
      : Party(pairwise_options(0, counts_flows)), pairing(options) {
    links.open(1);
    std::vector<Wish> wishes;
    for (Party* other : others) {
      membership.receive({}, Gossip{{{*other->membership.find(other->membership.self())}}}, outbox);
      wishes.push_back({other->membership.self()});
      other->membership.receive({}, Gossip{{{*membership.find(membership.self())}}}, other->outbox);
      other->links.open(1);
      other->links.want({}, {{membership.self()}}, other->membership, other->outbox);
    }
    links.want({}, wishes, membership, outbox);
    links.tick({}, outbox);
    for (int k = 0; k < 3; ++k) {
      for (const Send& send : said())
        for (Party* other : others)
          if (send.to == other->options.control) other->hear({}, send.message);
      for (Party* other : others)
        for (const Send& send : other->said()) hear({}, send.message);
    }
  }
  void propose(Time now, const Link& link) {
    Round message;
    sessions.offer(now, link, {.round = 1, .degree = 1}, false, {.idle = 1s}, message);
    pairing.proposed(now, link.wish.peer);
  }
  bool may_step(Time now) const { return pairing.may_step(now, links, sessions); }

  Sessions sessions;
  Pairing pairing;
};

}  // namespace

TEST_CASE("A node proposes to one whose edge is free and waits while proposals are young") {
  Party a(pairwise_options(1)), b(pairwise_options(2)), c(pairwise_options(3));
  Pairer node({&a, &b, &c}, false);
  CHECK(node.may_step({}));
  std::set<NodeId> asked;
  for (int k = 0; k < 3; ++k) {
    const Link* link = node.pairing.choose(node.links, node.sessions);
    REQUIRE(link);
    CHECK(asked.insert(link->wish.peer).second);  // never one that has not answered
    node.propose(Time(1s), *link);
    CHECK(node.may_step(Time(1s)) == (k == 0));  // one may wait
  }
  CHECK(node.pairing.choose(node.links, node.sessions) == nullptr);
  // Until answers have been measured, for as long as the timing says.
  const Duration young = node.options.timing.patience_initial;
  CHECK(node.pairing.deadline(node.links, node.sessions) == Time(1s) + young);
  CHECK_FALSE(node.may_step(Time(1s) + young - 1ns));
  CHECK(node.may_step(Time(1s) + young));
}

TEST_CASE("Where flows are counted the next step waits for every young proposal") {
  Party a(pairwise_options(1)), b(pairwise_options(2));
  Pairer node({&a, &b}, true);
  // Answers took 10 ms: one is young for four times that.
  const Link* link = node.pairing.choose(node.links, node.sessions);
  REQUIRE(link);
  for (int k = 0; k < 3; ++k) {
    node.pairing.proposed(Time(1s), link->wish.peer);
    node.pairing.answered(Time(1010ms), link->wish.peer);
  }
  node.propose(Time(2s), *link);
  CHECK_FALSE(node.may_step(Time(2039ms)));
  CHECK(node.may_step(Time(2040ms)));
}
