// Loss detection and questions of one end of an edge: direct tests of Stream and NewestStream, the
// peer's messages written by hand.
#include "gossip/edges/stream.h"

#include <doctest/doctest.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gossip/edges/newest_stream.h"
#include "tests/gossip/party.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

Payload vector_of(std::size_t bytes) {
  const std::string text(bytes, 'v');
  return Payload::copy_of(std::as_bytes(std::span(text)));
}

// One end with its window, and what it sends.
struct End {
  End() : outbox(1, node_id("node-1"), 1) {
    outbox.begin(out);
    link.epoch = 3, link.peer_epoch = 4;
    link.wanted.peer = node_id("node-2");
  }
  // Offers a vector to the window, as message number order().
  std::uint64_t offer(std::uint64_t round, std::size_t bytes = 8) {
    Round message;
    stream.number(message);
    const std::uint64_t index = sent.offer({{round, 0.5, 0.25}, vector_of(bytes)});
    sent.mark_sent(index, message.order);
    return message.order;
  }
  std::uint64_t ask() {
    Round message;
    stream.number(message);
    stream.ask(now, message);
    CHECK(message.asks);
    return message.order;
  }
  std::vector<Send> said() {
    std::vector<Send> sends;
    for (Output& output : std::exchange(out, {}))
      if (auto* send = std::get_if<Send>(&output)) sends.push_back(std::move(*send));
    return sends;
  }
  std::vector<Round> hear(NewestStream& newest, const Round& message) {
    newest.hear(now, link, message, outbox);
    std::vector<Round> rounds;
    for (const Send& send : said()) rounds.push_back(std::get<Round>(send.message.body));
    return rounds;
  }

  Time now{5s};
  std::vector<Output> out;
  Outbox outbox;
  Link link;
  Stream stream;
  SendWindow sent;
};

Round seen(std::uint64_t order, std::uint64_t received = 0) {
  Round message;
  message.order = order;
  message.seen = order;
  message.received = received;
  return message;
}

}  // namespace

TEST_CASE("Messages are numbered from one and name the highest number heard") {
  End end;
  Round first, second;
  end.stream.number(first);
  end.stream.hear(seen(0), end.sent);
  Round peers;
  peers.order = 7;
  end.stream.hear(peers, end.sent);
  peers.order = 5;  // a repeated one
  end.stream.hear(peers, end.sent);
  end.stream.number(second);
  CHECK(std::pair(first.order, first.seen) == std::pair<std::uint64_t, std::uint64_t>(1, 0));
  CHECK(std::pair(second.order, second.seen) == std::pair<std::uint64_t, std::uint64_t>(2, 7));
}

TEST_CASE("A vector is lost once the peer has seen a later message but not the vector") {
  End end;
  Round header;
  header.epoch = 3, header.echo = 4;
  const std::uint64_t vector = end.offer(1);
  end.stream.hear(seen(vector), end.sent);
  CHECK(end.stream.retransmit(end.sent, seen(vector), header, end.link.wanted.peer, end.outbox) ==
        0);
  const std::uint64_t later = end.ask();
  end.stream.hear(seen(later), end.sent);
  CHECK(end.stream.retransmit(end.sent, seen(later), header, end.link.wanted.peer, end.outbox) ==
        8);
  const std::vector<Send> sends = end.said();
  REQUIRE(sends.size() == 1);
  const Round& again = std::get<Round>(sends.front().message.body);
  CHECK(again.order == later + 1);
  CHECK(again.number == 1);
  CHECK(again.round == 1);
  CHECK(again.share == 0.5);
  CHECK(again.span == 0.25);
  // The retransmitted vector is under way now.
  CHECK(end.stream.retransmit(end.sent, seen(later), header, end.link.wanted.peer, end.outbox) ==
        0);
}

TEST_CASE("A number that this end never gave loses no vector") {
  End end;
  end.offer(1);
  end.stream.hear(seen(1000), end.sent);
  CHECK(end.sent.seen() == 0);
  CHECK(end.sent.lost().empty());
}

TEST_CASE("A vector that came in part is retransmitted from its first missing byte") {
  End end;
  Round header;
  header.echo = 4;
  end.offer(1);
  Round heard = seen(end.ask());
  heard.partial = 6;
  end.stream.hear(heard, end.sent);
  CHECK(end.stream.retransmit(end.sent, heard, header, end.link.wanted.peer, end.outbox) == 2);
}

TEST_CASE("A question is answered with one unless a recent one is under way") {
  End end;
  CHECK_FALSE(end.stream.may_ask_back(end.now, end.sent, 100ms));  // no vector
  end.offer(1);
  CHECK(end.stream.may_ask_back(end.now, end.sent, 100ms));
  end.ask();
  CHECK_FALSE(end.stream.may_ask_back(end.now + 99ms, end.sent, 100ms));
  CHECK(end.stream.may_ask_back(end.now + 100ms, end.sent, 100ms));
  end.sent.acknowledge(1, 0);
  CHECK_FALSE(end.stream.may_ask_back(end.now + 100ms, end.sent, 100ms));
}

TEST_CASE("The pause between questions grows up to its limit") {
  End end;
  end.stream.set_pause(800ms);
  end.stream.back_off(end.now);
  CHECK(end.stream.ask_at() == end.now + 800ms);
  CHECK(end.stream.pause() == kPauseLimit);
}

TEST_CASE("Only the newest vector is retransmitted where older ones do not count") {
  End end;
  NewestStream newest;
  for (std::uint64_t round = 1; round <= 2; ++round) {
    Round message;
    message.round = round;
    newest.offer(end.link, {{round, 0.5}, vector_of(8)}, message);
  }
  newest.ask(end.now, end.link, end.outbox);
  CHECK(end.said().size() == 1);
  const std::vector<Round> again = end.hear(newest, seen(3, 1));
  REQUIRE(again.size() == 1);
  CHECK(again.front().round == 2);
  CHECK(again.front().number == 0);
}

TEST_CASE("An acknowledgement that a later one overtook retransmits nothing") {
  End end;
  NewestStream newest;
  Round message;
  newest.offer(end.link, {{5, 0.5}, vector_of(8)}, message);
  newest.ask(end.now, end.link, end.outbox);
  end.said();
  CHECK(end.hear(newest, seen(2, 5)).empty());
  CHECK(end.hear(newest, seen(2, 4)).empty());
}

TEST_CASE("Another opening of the edge numbers its messages from one again") {
  End end;
  NewestStream newest;
  Round message;
  newest.offer(end.link, {{5, 0.5}, vector_of(8)}, message);
  CHECK(message.order == 1);
  newest.offer(end.link, {{6, 0.5}, vector_of(8)}, message);
  CHECK(message.order == 2);
  end.link.peer_epoch = 9;
  newest.offer(end.link, {{7, 0.5}, vector_of(8)}, message);
  CHECK(message.order == 1);
}
