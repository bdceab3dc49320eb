#include "daemon/process/zmq_transport.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "base/utc.h"
#include "daemon/process/descriptors.h"
#include "gossip/transport/connections.h"
#include "gossip/transport/greeting.h"
#include "tests/daemon/raw_client.h"
#include "tests/gossip/certificates.h"
#include "tests/gossip/samples.h"

using namespace starling;
using namespace starling::test;
using daemon::ZmqTransport;
using gossip::Plane;
using gossip::Transport;

namespace {

using Credentials = std::shared_ptr<gossip::Credentials>;

// A certificate of the test's cluster for the node with this name.
Credentials credentials(const std::string& name, int number) {
  const KeyPair cluster = test_key(1), key = test_key(number);
  gossip::Certificate draft = certificate_draft(name, key);
  draft.not_after = kLatestMoment;
  return std::make_shared<gossip::Credentials>(
      gossip::Credentials{test_key(number), gossip::sign_certificate(draft, cluster).value(),
                          gossip::Authority(cluster.public_key(), {})});
}

std::unique_ptr<ZmqTransport> transport(NodeId self, const daemon::DescriptorShares& shares = {},
                                        const std::string& host = "127.0.0.1",
                                        const Credentials& credentials = nullptr) {
  auto bound = ZmqTransport::bind(
      {.self = self, .listen = {host, 0}, .shares = shares, .credentials = credentials});
  if (!bound) FAIL(bound.error().text);
  return std::move(*bound);
}

gossip::Frames word(const std::string& text) {
  return gossip::Frames(gossip::Frame{text, {}});
}

const daemon::FrameHandler kNobody = [](auto&&...) {};

bool takes_keys() {
  bool takes = false;
  SUBCASE("in plain text") {}
  SUBCASE("with keys") {
    takes = true;
  }
  return takes;
}

// Two nodes that know of each other; `a` has the lower id.
struct Two {
  explicit Two(bool has_keys = takes_keys())
      : keys_a(has_keys ? credentials("node-3", 11) : nullptr),
        keys_b(has_keys ? credentials("node-1", 12) : nullptr) {
    REQUIRE(kA < kB);
    a->reach(kB, address_of_b());
  }
  void let_b_dial() { b->reach(kA, Transport::Address{a->endpoint(), key(keys_a)}); }
  Transport::Address address_of_b() const { return {b->endpoint(), key(keys_b)}; }
  static std::optional<CurveKey> key(const Credentials& of) {
    return of ? curve_key(of->key.public_key()) : std::nullopt;
  }
  // Until then, or for a minute.
  bool run(const std::function<bool()>& is_done) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!is_done() && std::chrono::steady_clock::now() < until) {
      if (a) a->poll(std::chrono::milliseconds(2), {}, at_a);
      if (b) b->poll(std::chrono::milliseconds(2), {}, at_b);
    }
    return is_done();
  }

  inline static const NodeId kA = node_id("node-3"), kB = node_id("node-1");
  Credentials keys_a, keys_b;
  std::unique_ptr<ZmqTransport> a = transport(kA, {}, "127.0.0.1", keys_a),
                                b = transport(kB, {}, "127.0.0.1", keys_b);
  std::vector<std::string> heard_a, heard_b;
  daemon::FrameHandler at_a = listener(heard_a), at_b = listener(heard_b);

 private:
  static daemon::FrameHandler listener(std::vector<std::string>& heard) {
    return [&heard](const gossip::Received& frame) {
      heard.emplace_back(reinterpret_cast<const char*>(frame.header.data()), frame.header.size());
    };
  }
};

gossip::Message message(std::size_t bytes) {
  std::vector<std::byte> values(bytes);
  Prng prng(3);
  for (std::byte& value : values) value = static_cast<std::byte>(prng.next());
  return {{1, NodeId{2}, 3, 4},
          test::round_of({.round = 2, .share = 0.25}, 1),
          Payload::copy_of(values)};
}

std::vector<std::byte> bytes_of(const Payload& payload) {
  std::vector<std::byte> bytes(payload.size());
  payload.copy_to(0, bytes);
  return bytes;
}

// Speaks ZeroMQ's protocol as a sending socket does: greeting and READY.
daemon::RawClient sender(const Endpoint& to) {
  daemon::RawClient client(to);
  std::string greeting("\xff\0\0\0\0\0\0\0\0\x7f\x03\0NULL", 16);
  greeting.resize(64, '\0');
  client.send(greeting);
  client.send(std::string("\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06ROUTER", 30));
  client.read_until("ROUTER");  // the other end has said what it is
  return client;
}

}  // namespace

TEST_CASE("A message that does not end is cut off and others still arrive") {
  Two two(false);
  std::size_t refused = 0;
  const auto look = [&](const gossip::Received& frame) { refused += frame.header.empty(); };
  // The first bytes of a part of 1 MiB that is not the last.
  std::string part("\x03\0\0\0\0\0\x10\0\0", 9);
  part.append(1 << 20, 'x');
  for (int k = 0; k < 2; ++k) {
    daemon::RawClient flood = sender(two.b->endpoint());
    // The receiver reads no further while nobody takes what it has: both go on in turn.
    const std::size_t limit = 4096 * part.size();
    std::size_t sent = 0;
    while (sent < limit) {
      const auto some = flood.send_some(std::string_view(part).substr(sent % part.size()));
      if (!some) break;
      sent += *some;
      two.b->poll(Duration::zero(), {}, look);
    }
    CHECK(sent < limit);
  }
  CHECK(refused == 2);
  two.a->send(Two::kB, Plane::control, word("hello"));
  CHECK(two.run([&] { return two.heard_b.size() == 1; }));
}

TEST_CASE("Connections that send much and finish their messages are kept") {
  Two two;
  const gossip::Message sent = message(2 * gossip::Connections::kHeldBytesLimit + 5);
  gossip::Cutter cutter;
  std::size_t bytes = 0, refused = 0;
  two.at_b = [&](const gossip::Received& frame) {
    refused += frame.header.empty();
    bytes += frame.payload.size();
  };
  two.a->send(Two::kB, Plane::bulk, cutter.cut(sent));
  CHECK(two.run([&] { return bytes >= sent.payload.size(); }));
  CHECK(bytes == sent.payload.size());
  CHECK(refused == 0);
}

TEST_CASE("Every socket keeps the rules") {
  const auto options = transport(NodeId{1})->read_back_options();
  for (const char* socket : {"control.", "accepted.", "bulk."}) {
    const auto value = [&](const char* name) { return options.at(std::string(socket) + name); };
    CAPTURE(socket);
    const bool control = std::string(socket).starts_with("control");
    CHECK(value("linger") == 500);
    CHECK(value("maxmsgsize") == 2 << 20);
    const auto plane = control ? Plane::control : Plane::bulk;
    if (!control) CHECK(value("sndbuf") == gossip::kSendBufferBytes);
    CHECK(value("sndhwm") == static_cast<int>(gossip::sending_limit(plane)));
    CHECK(value("rcvhwm") == (control ? 256 : 16));
    CHECK(value("backlog") == 1024);
    CHECK(std::chrono::milliseconds(value("connect_timeout")) == gossip::kConnectTimeout);
    CHECK(value("handshake_ivl") == 5000);
    CHECK(value("reconnect_ivl") == 60000);
    CHECK(value("ipv6") == 1);
    CHECK(value("tcp_maxrt") == (control ? 6000 : 15000));
    CHECK(value("tcp_keepalive") == 1);
  }
}

TEST_CASE("A greeting names a plane and a node or is none") {
  const std::string text = gossip::greeting_of(NodeId{513}, Plane::bulk, "abc");
  const auto bytes = std::as_bytes(std::span(text));
  const auto greeting = gossip::read_greeting(bytes);
  REQUIRE(greeting.has_value());
  CHECK(greeting->node == NodeId{513});
  CHECK(greeting->plane == Plane::bulk);
  CHECK(greeting->certificate.size() == 3);
  for (std::size_t size = 0; size < text.size() - 3; ++size)
    CHECK_FALSE(gossip::read_greeting(bytes.first(size)).has_value());
  std::string other = text;
  other[gossip::kGreetingMark.size()] = 2;
  CHECK_FALSE(gossip::read_greeting(std::as_bytes(std::span(other))).has_value());
}

TEST_CASE("One connection a plane carries messages both ways") {
  Two two;
  const std::size_t before = daemon::count_descriptors().used;
  for (const Plane plane : {Plane::control, Plane::bulk}) {
    two.a->send(Two::kB, plane, word("there"));
    CHECK(two.run([&] { return two.heard_b.size() == (plane == Plane::control ? 1 : 2); }));
    two.b->send(Two::kA, plane, word("back"));  // b knows no address of a
    CHECK(two.run([&] { return two.heard_a.size() == (plane == Plane::control ? 1 : 2); }));
  }
  CHECK(two.a->connections() == 2);
  CHECK(two.b->connections() == 2);
  CHECK(daemon::count_descriptors().used == before + 4);  // both ends of both
}

TEST_CASE("Of two connections the one that the lower id has dialled stays") {
  Two two;
  two.let_b_dial();
  const std::size_t before = daemon::count_descriptors().used;
  const auto taken = [&] { return daemon::count_descriptors().used - before; };
  two.a->send(Two::kB, Plane::control, word("there"));
  two.b->send(Two::kA, Plane::control, word("back"));
  CHECK(two.run([&] { return two.heard_a.size() == 1 && two.heard_b.size() == 1; }));
  CHECK(two.run([&] { return taken() == 2; }));
  for (int k = 0; k < 100; ++k) {
    two.a->send(Two::kB, Plane::control, word("there"));
    two.b->send(Two::kA, Plane::control, word("back"));
  }
  CHECK(two.run([&] { return two.heard_a.size() == 101 && two.heard_b.size() == 101; }));
  CHECK(taken() == 2);
  // It was a's: b is hung up on, and not the other way.
  two.b->hang_up(Two::kA, Plane::control);
  CHECK_FALSE(two.b->connections() == 0);
  two.a->hang_up(Two::kB, Plane::control);
  CHECK(two.run([&] { return taken() == 0; }));
}

TEST_CASE("A connection that says nothing or no greeting is closed") {
  const auto b = transport(NodeId{2});
  std::size_t heard = 0;
  const auto count = [&](auto&&...) { ++heard; };
  daemon::RawClient silent = sender(b->endpoint()), rude = sender(b->endpoint());
  rude.send(std::string("\0\x05hello", 7));
  bool is_cut = false;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!is_cut && std::chrono::steady_clock::now() < until) {
    b->poll(std::chrono::milliseconds(5), {}, count);
    is_cut = !rude.send(std::string("\0\x05hello", 7));
  }
  CHECK(is_cut);
  const auto began = std::chrono::steady_clock::now();
  for (is_cut = false; !is_cut && std::chrono::steady_clock::now() < until;) {
    b->poll(std::chrono::milliseconds(5), {}, count);
    is_cut = !silent.send(std::string("\0", 1));
  }
  CHECK(is_cut);
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(30));
  CHECK(heard == 0);
}

TEST_CASE("A node that starts again is reached again by who dialled it and by who did not") {
  Two two;
  two.a->send(Two::kB, Plane::control, word("one"));
  CHECK(two.run([&] { return two.heard_b.size() == 1; }));
  const Endpoint at = two.b->endpoint();
  two.b.reset();
  CHECK(two.run([&] { return two.a->connections() == 0; }));
  auto again = ZmqTransport::bind({.self = Two::kB, .listen = at, .credentials = two.keys_b});
  REQUIRE(again.has_value());
  two.b = std::move(*again);
  CHECK(two.run([&] {
    two.a->send(Two::kB, Plane::control, word("two"));
    return two.heard_b.size() > 1;
  }));
  two.b->send(Two::kA, Plane::control, word("back"));
  CHECK(two.run([&] { return two.heard_a.size() == 1; }));
}

TEST_CASE("The last words of a node that ends arrive over either end of a connection") {
  const bool has_keys = takes_keys();
  for (const bool dialled : {true, false}) {
    CAPTURE(dialled);
    Two two(has_keys);
    two.a->send(Two::kB, Plane::control, word("first"));
    CHECK(two.run([&] { return two.heard_b.size() == 1; }));
    std::unique_ptr<ZmqTransport>& leaver = dialled ? two.a : two.b;
    leaver->send(dialled ? Two::kB : Two::kA, Plane::control, word("goodbye"));
    leaver->flush(std::chrono::milliseconds(300));
    leaver.reset();
    // The other end finds out by sending, before it reads.
    std::unique_ptr<ZmqTransport>& stayer = dialled ? two.b : two.a;
    for (int k = 0; k < 1000; ++k)
      stayer->send(dialled ? Two::kA : Two::kB, Plane::control, word("you"));
    CHECK(
        two.run([&] { return (dialled ? two.heard_b : two.heard_a).size() == (dialled ? 2 : 1); }));
  }
}

TEST_CASE("Connections to many peers keep to their share and those in use stay open") {
  const daemon::DescriptorShares few{.sending = 40};
  const auto a = transport(NodeId{1}, few);
  std::vector<std::unique_ptr<ZmqTransport>> others;
  std::size_t heard = 0;
  const auto count = [&](const gossip::Received& frame) { heard += frame.header.size() == 4; };
  for (std::uint64_t k = 2; k < 32; ++k) others.push_back(transport(NodeId{k}));
  const std::size_t before = daemon::count_descriptors().used;
  const auto look_until = [&](const auto& is_done) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!is_done() && std::chrono::steady_clock::now() < until) {
      a->poll(std::chrono::milliseconds(1), {}, kNobody);
      for (const auto& other : others) other->poll(Duration::zero(), {}, count);
    }
  };
  std::size_t sent = 0;
  for (std::uint64_t k = 2; k < 32; ++k) {
    a->reach(NodeId{k}, Transport::Address{others[k - 2]->endpoint()});
    a->send(NodeId{k}, Plane::control, word("other"));
    a->send(NodeId{k}, Plane::bulk, word("other"));
    a->send(NodeId{2}, Plane::control, word("kept"));
    ++sent;
    look_until([&] { return heard == sent; });
  }
  CHECK(heard == sent);
  // One more for the other end of each connection.
  const auto taken = [&] { return daemon::count_descriptors().used - before; };
  look_until([&] { return taken() <= 2 * few.sending; });
  CHECK(taken() <= 2 * few.sending);
}

TEST_CASE("Of too many connections from others those heard longest ago are closed") {
  constexpr std::size_t kOthers = 30;
  const daemon::DescriptorShares few{.receiving = 8};
  const auto a = transport(NodeId{1}), b = transport(NodeId{2}, few);
  std::size_t heard = 0, sent = 0;
  a->reach(NodeId{2}, Transport::Address{b->endpoint()});
  const auto look_until = [&](const auto& is_done) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!is_done() && std::chrono::steady_clock::now() < until) {
      a->poll(std::chrono::milliseconds(1), {}, kNobody);
      b->poll(std::chrono::milliseconds(5), {}, [&](const gossip::Received&) { ++heard; });
    }
  };
  const auto say = [&] {
    a->send(NodeId{2}, Plane::control, word("hello"));
    ++sent;
    look_until([&] { return heard == sent; });
  };
  say();
  const std::size_t before = daemon::count_descriptors().used;
  std::vector<daemon::RawClient> others;
  for (std::size_t k = 0; k < kOthers; ++k) {
    others.push_back(sender(b->endpoint()));
    say();
  }
  const auto taken = [&] { return daemon::count_descriptors().used - before; };
  look_until([&] { return taken() < kOthers + few.receiving; });
  CHECK(taken() < kOthers + few.receiving);
  say();
  CHECK(heard == sent);
  CHECK(a->connections() == 1);
}

TEST_CASE("A vector of many chunks arrives whole and unchanged") {
  Two two;
  const gossip::Message sent = message(20'000'003);
  gossip::Cutter cutter;
  gossip::Assembler assembler;
  assembler.set_payload_limit(sent.payload.size());
  two.a->send(Two::kB, Plane::bulk, cutter.cut(sent));
  std::optional<gossip::Message> received;
  two.at_b = [&](gossip::Received frame) {
    CHECK(frame.plane == Plane::bulk);
    CHECK(frame.from == Two::kA);
    auto header = gossip::decode_header(frame.header);
    REQUIRE(header.has_value());
    auto whole = assembler.add(Time{}, std::move(*header), std::move(frame.payload));
    REQUIRE(whole.has_value());
    if (*whole) received = std::move(**whole);
  };
  REQUIRE(two.run([&] { return received.has_value(); }));
  CHECK(bytes_of(received->payload) == bytes_of(sent.payload));
}

TEST_CASE("What was sent before a connection is hung up arrives however late it is read") {
  Two two;
  two.let_b_dial();
  std::size_t bytes = 0;
  two.at_a = [&](const gossip::Received& frame) { bytes += frame.payload.size(); };
  constexpr std::size_t kBytes = 40'000'000;
  gossip::Cutter cutter;
  two.b->send(Two::kA, Plane::bulk, cutter.cut(message(kBytes)));
  REQUIRE(two.run([&] { return bytes > 0 && !two.b->has_queued(); }));
  const std::size_t before = daemon::count_descriptors().used;
  two.b->hang_up(Two::kA, Plane::bulk);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (std::chrono::steady_clock::now() < until)
    two.b->poll(std::chrono::milliseconds(2), {}, kNobody);
  CHECK(bytes < kBytes);
  CHECK(two.run([&] { return bytes == kBytes; }));
  CHECK(two.run([&] { return daemon::count_descriptors().used < before; }));
}

TEST_CASE("Messages stay in order when another connection with the peer takes over") {
  Two two;
  two.let_b_dial();
  std::size_t bytes = 0, words = 0;
  two.at_a = [&](const gossip::Received& frame) {
    bytes += frame.payload.size();
    words += frame.payload.empty();
  };
  constexpr std::size_t kBytes = 40'000'000;
  gossip::Cutter cutter;
  two.b->send(Two::kA, Plane::bulk, cutter.cut(message(kBytes)));
  two.a->send(Two::kB, Plane::bulk, cutter.cut(message(0)));
  REQUIRE(two.run([&] { return bytes > 0 && !two.b->has_queued(); }));
  two.b->send(Two::kA, Plane::bulk, cutter.cut(message(0)));
  REQUIRE(two.run([&] { return words == 1; }));
  CHECK(bytes == kBytes);
}

TEST_CASE("A vector whose connection breaks in the middle ends there") {
  Two two;
  const Endpoint at = two.b->endpoint();
  gossip::Cutter cutter;
  std::size_t vectors = 0, words = 0;
  two.at_b = [&](const gossip::Received& frame) { ++(frame.payload.empty() ? words : vectors); };
  two.a->send(Two::kB, Plane::bulk, cutter.cut(message(100'000'000)));
  CHECK(two.run([&] { return vectors > 20; }));
  REQUIRE(two.a->has_queued());
  two.b.reset();
  auto again = ZmqTransport::bind({.self = Two::kB, .listen = at, .credentials = two.keys_b});
  REQUIRE(again.has_value());
  two.b = std::move(*again);
  vectors = 0;
  CHECK(two.run([&] { return !two.a->has_queued(); }));
  two.a->send(Two::kB, Plane::bulk, cutter.cut(message(0)));
  CHECK(two.run([&] { return words == 1; }));
  CHECK(vectors == 0);
}

TEST_CASE("Sending to nobody neither waits nor piles up") {
  const auto a = transport(NodeId{1});
  gossip::Cutter cutter;
  const gossip::Message sent = message(1'000'000);
  a->reach(NodeId{2}, Transport::Address{{"127.0.0.1", 1}});
  for (int i = 0; i < 1000; ++i) a->send(NodeId{2}, Plane::bulk, cutter.cut(sent));
  CHECK(a->dropped() >= 990);
  for (int i = 0; i < 1000; ++i) a->send(NodeId{2}, Plane::control, word("hello"));
  CHECK(a->dropped() >= 1600);
  for (int i = 0; i < 1000; ++i) a->send(NodeId{3}, Plane::control, word("hello"));
  CHECK(a->dropped() >= 2600);
  a->hang_up(NodeId{2}, Plane::bulk);
}

TEST_CASE("A stranger's address is spoken to and the answer comes back on the same connection") {
  Two two;
  two.b->send(Transport::Address{two.a->endpoint(), Two::key(two.keys_a)}, Plane::control,
              word("join"));
  CHECK(two.run([&] { return two.heard_a.size() == 1; }));
  two.a->reach(Two::kB, Transport::Address{});  // it cannot be dialled
  two.a->send(Two::kB, Plane::control, word("table"));
  CHECK(two.run([&] { return two.heard_b.size() == 1; }));
  CHECK(two.a->connections() == 1);
}

TEST_CASE("A port in use is named in the error") {
  const auto a = transport(NodeId{1});
  const auto taken = ZmqTransport::bind({.self = NodeId{2}, .listen = a->endpoint()});
  REQUIRE_FALSE(taken.has_value());
  CHECK(taken.error().text.find("listen.control") != std::string::npos);
  CHECK(taken.error().code == kExitFailed);
  CHECK(taken.error().text.find(std::to_string(a->endpoint().port)) != std::string::npos);
}
