#include "gossip/edges/edge_ledger.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/prng.h"

using namespace starling;
using namespace starling::gossip;

namespace {

EdgeVector vector_of(std::uint64_t round, double share = 0.25) {
  return {{.round = round, .share = share}};
}

// What one end says to the other.
struct Word {
  std::uint64_t number = 0;
  double share = 0;
  std::uint64_t received = 0;
  std::uint64_t beyond = 0;
  std::uint64_t offered = 0;
  bool closes = false;
};

struct Mixed {
  std::uint64_t number;
  double weight;

  bool operator==(const Mixed&) const = default;
};

// Two ends that offer, lose, repeat and reorder by chance until their edge closes, and then say
// what they have until both are settled.
class Edge {
 public:
  explicit Edge(std::uint64_t seed) : prng_(seed) {}

  void step() {
    const std::size_t end = prng_.below(2);
    if (prng_.uniform() < 0.6) round(end);
    if (prng_.uniform() < 0.6) deliver(1 - end);
    if (prng_.uniform() < 0.2) remind(end);
  }
  void close(std::size_t end) {
    ends_[end].close();
    say(end, 0);
  }
  bool settle() {
    for (int k = 0; k < 2000; ++k) {
      for (std::size_t end : {0, 1}) {
        remind(end);  // a settled end still answers
        deliver(end);
        mix(end);
      }
      if (ends_[0].is_settled() && ends_[1].is_settled()) return true;
    }
    return false;
  }
  const std::vector<Mixed>& mixed(std::size_t end) const { return mixed_[end]; }
  std::uint64_t offered(std::size_t end) const { return ends_[end].sent().last(); }

 private:
  void round(std::size_t end) {
    mix(end);
    if (!ends_[end].takes_part()) return;
    const double share = 1.0 / static_cast<double>(2 + prng_.below(4));
    shares_[end].push_back(share);
    say(end, ends_[end].offer(vector_of(++rounds_[end], share)));
  }
  void mix(std::size_t end) {
    for (const EdgeLedger::Pair& pair : ends_[end].take())
      mixed_[end].push_back({pair.number, pair.weight()});
  }
  // Sends the newest that the other end may not have, and the first of those that are lost.
  void remind(std::size_t end) {
    const std::vector<std::uint64_t> lost = ends_[end].sent().lost();
    const std::uint64_t newest = ends_[end].sent().newest_unconfirmed();
    say(end, !lost.empty() ? lost.front() : newest > 0 ? sent_[newest] : 0);
  }
  void say(std::size_t end, std::uint64_t number) {
    const EdgeLedger& self = ends_[end];
    Word word{.number = number, .share = number > 0 ? shares_[end][number - 1] : 0};
    if (number > 0) ends_[end].sent().mark_sent(number, ++order_), sent_[order_] = number;
    word.received = self.received().up_to();
    word.beyond = self.received().beyond();
    word.offered = self.sent().last();
    word.closes = self.is_closed();
    for (int copies = 0; copies < 2; ++copies)
      if (prng_.uniform() < 0.6) wires_[1 - end].push_back(word);
  }
  void deliver(std::size_t end) {
    std::deque<Word>& wire = wires_[end];
    if (wire.empty()) return;
    const auto at = wire.begin() + static_cast<std::ptrdiff_t>(prng_.below(wire.size()));
    const Word word = *at;
    wire.erase(at);
    ends_[end].acknowledge(word.received, word.beyond);
    if (word.number > 0) ends_[end].receive(word.number, vector_of(0, word.share));
    ends_[end].announced(word.offered);
    if (word.closes) ends_[end].closed_at(word.offered);
  }

  Prng prng_;
  std::uint64_t order_ = 0;
  std::map<std::uint64_t, std::uint64_t> sent_;  // the number of the vector, by order
  std::array<EdgeLedger, 2> ends_;
  std::array<std::deque<Word>, 2> wires_;  // to each end
  std::array<std::vector<double>, 2> shares_;
  std::array<std::vector<Mixed>, 2> mixed_;
  std::array<std::uint64_t, 2> rounds_{};
};

std::vector<Mixed> sorted(std::vector<Mixed> mixed) {
  std::ranges::sort(mixed, {}, &Mixed::number);
  return mixed;
}

}  // namespace

TEST_CASE("Both ends of an edge mix the same pairs once and with one weight") {
  std::size_t pairs = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    Edge edge(seed);
    for (int k = 0; k < 300; ++k) edge.step();
    edge.close(seed % 2);
    REQUIRE(edge.settle());
    const std::vector<Mixed> mixed = sorted(edge.mixed(0));
    REQUIRE(mixed == sorted(edge.mixed(1)));
    REQUIRE(mixed.size() == std::min(edge.offered(0), edge.offered(1)));
    for (std::size_t k = 0; k < mixed.size(); ++k) REQUIRE(mixed[k].number == k + 1);
    pairs += mixed.size();
  }
  CHECK(pairs > 5000);  // the walks were not idle
}

TEST_CASE("A ledger holds few vectors however long the peer is silent") {
  EdgeLedger ledger;
  std::uint64_t offered = 0;
  for (std::uint64_t round = 1; round <= 100; ++round)
    if (ledger.takes_part()) offered = ledger.offer(vector_of(round));
  CHECK(offered == EdgeLedger::kLateLimit + 1);
  CHECK_FALSE(ledger.receive(1000, vector_of(1)));
  CHECK_FALSE(ledger.receive(0, vector_of(1)));
}

// The peer's first two vectors are lost, and its third has come.
TEST_CASE("A half is asked for only while the edge takes another vector") {
  EdgeLedger ledger;
  ledger.offer(vector_of(1));
  ledger.offer(vector_of(2));
  CHECK(ledger.receive(3, vector_of(3)));
  CHECK_FALSE(ledger.is_asked());
  CHECK(ledger.receive(1, vector_of(1)));
  CHECK(ledger.take().size() == 1);
  CHECK(ledger.is_asked());
}

TEST_CASE("The next pair is of a round in which the peer can offer its half") {
  EdgeLedger ledger;
  CHECK(ledger.round_of_next() == 1);
  ledger.offer(vector_of(11));
  ledger.offer(vector_of(12));
  CHECK(ledger.round_of_next() == 3);  // nothing heard: it may be slow
  REQUIRE(ledger.receive(1, vector_of(12)));
  CHECK(ledger.round_of_next() == 14);  // it offers one a round as well, one behind
  REQUIRE(ledger.receive(2, vector_of(13)));
  CHECK(ledger.round_of_next() == 14);
  REQUIRE(ledger.receive(3, vector_of(14)));
  CHECK(ledger.round_of_next() == 0);  // it waits for this end's half
}

TEST_CASE("A vector is lost when a message sent after it has come but not the vector") {
  EdgeLedger ledger;
  for (std::uint64_t k = 1; k <= 3; ++k) ledger.sent().mark_sent(ledger.offer(vector_of(k)), k);
  CHECK(ledger.sent().lost().empty());
  ledger.acknowledge(0, 0b100);  // the third has come
  CHECK(ledger.sent().lost() == std::vector<std::uint64_t>{1, 2});
  ledger.sent().mark_sent(1, 4);
  ledger.sent().mark_sent(2, 5);
  CHECK(ledger.sent().lost().empty());
  // What was sent before they were sent again says nothing of them.
  ledger.sent().seen(3);
  CHECK(ledger.sent().lost().empty());
  ledger.acknowledge(1, 0b10);
  ledger.sent().seen(6);
  CHECK(ledger.sent().lost() == std::vector<std::uint64_t>{2});
}

TEST_CASE("A vector that comes again is known") {
  EdgeLedger ledger;
  CHECK(ledger.receive(2, vector_of(2)));
  CHECK(ledger.received().up_to() == 0);
  CHECK_FALSE(ledger.receive(2, vector_of(2)));
  CHECK(ledger.receive(1, vector_of(1)));
  CHECK(ledger.received().up_to() == 2);
  CHECK_FALSE(ledger.receive(1, vector_of(1)));
}

TEST_CASE("Vectors without a partner are dropped when the edge closes") {
  EdgeLedger ledger;
  ledger.offer(vector_of(1));
  ledger.offer(vector_of(2));
  ledger.closed_at(0);
  CHECK(ledger.is_settled());
  CHECK(ledger.take().empty());
}

TEST_CASE("A closed edge lacks no vector that has no partner") {
  EdgeLedger ledger;
  ledger.offer(vector_of(1));
  ledger.announced(3);
  CHECK(ledger.lacks());
  ledger.closed_at(3);
  CHECK(ledger.lacks());
  CHECK(ledger.receive(1, vector_of(1)));
  CHECK_FALSE(ledger.lacks());
}
