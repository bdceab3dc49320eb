#include "daemon/process/transport.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "daemon/process/descriptors.h"
#include "daemon/process/inbound.h"
#include "tests/daemon/raw_client.h"

using namespace starling;
using daemon::Transport;
using gossip::Plane;

namespace {

std::unique_ptr<Transport> transport(const daemon::DescriptorShares& shares = {},
                                     const std::string& host = "127.0.0.1") {
  auto bound = Transport::bind({host, 0}, {host, 0}, shares);
  REQUIRE(bound.has_value());
  return std::move(*bound);
}

gossip::Message message(std::size_t bytes) {
  std::vector<std::byte> values(bytes);
  Prng prng(3);
  for (std::byte& value : values) value = static_cast<std::byte>(prng.next());
  return {{1, NodeId{2}, 3, 4},
          gossip::Round{.epoch = 1, .round = 2, .share = 0.25},
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
  client.send(std::string("\x04\x1a\x05READY\x0bSocket-Type\0\0\0\x04PUSH", 28));
  client.read_until("PULL");  // the other end has said what it is
  return client;
}

}  // namespace

TEST_CASE("A message that does not end is cut off and others still arrive") {
  const auto a = transport(), b = transport();
  std::size_t refused = 0, heard = 0;
  const auto look = [&](Plane, std::span<const std::byte> header, const Payload&) {
    (header.empty() ? refused : heard) += 1;
  };
  // The first bytes of a part of 1 MiB that is not the last.
  std::string part("\x03\0\0\0\0\0\x10\0\0", 9);
  part.append(1 << 20, 'x');
  for (const Plane plane : {Plane::control, Plane::bulk}) {
    daemon::RawClient flood = sender(plane == Plane::control ? b->control() : b->bulk());
    // The receiver reads no further while nobody takes what it has: both go on in turn.
    const std::size_t limit = 4096 * part.size();
    std::size_t sent = 0;
    while (sent < limit) {
      const auto some = flood.send_some(std::string_view(part).substr(sent % part.size()));
      if (!some) break;
      sent += *some;
      b->poll(Duration::zero(), {}, look);
    }
    CHECK(sent < limit);
  }
  CHECK(refused == 2);
  a->send(b->control(), Plane::control, gossip::Frames(gossip::Frame{"hello", {}}));
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (heard == 0 && std::chrono::steady_clock::now() < until) {
    a->poll(std::chrono::milliseconds(5), {}, look);
    b->poll(std::chrono::milliseconds(5), {}, look);
  }
  CHECK(heard == 1);
}

TEST_CASE("Connections that send much and finish their messages are kept") {
  const auto a = transport(), b = transport();
  const gossip::Message sent = message(2 * daemon::Inbound::kHeldBytesLimit + 5);
  gossip::Cutter cutter;
  std::size_t bytes = 0, refused = 0;
  const auto count = [&](Plane, std::span<const std::byte> header, const Payload& body) {
    refused += header.empty();
    bytes += body.size();
  };
  a->send(b->bulk(), Plane::bulk, cutter.cut(sent));
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (bytes < sent.payload.size() && std::chrono::steady_clock::now() < until) {
    a->poll(std::chrono::milliseconds(5), {}, [](auto&&...) {});
    b->poll(std::chrono::milliseconds(5), {}, count);
  }
  CHECK(bytes == sent.payload.size());
  CHECK(refused == 0);
}

TEST_CASE("Every socket keeps the rules") {
  const auto a = transport(), b = transport();
  a->send(b->control(), Plane::control, gossip::Frames(gossip::Frame{"hello", {}}));
  a->send(b->bulk(), Plane::bulk, gossip::Frames(gossip::Frame{"hello", {}}));
  const auto options = a->read_back_options();
  for (const char* socket : {"control.", "bulk.", "control.peer.", "bulk.peer."}) {
    const auto value = [&](const char* name) { return options.at(std::string(socket) + name); };
    CAPTURE(socket);
    const bool control = std::string(socket).starts_with("control");
    CHECK(value("linger") == 500);
    CHECK(value("maxmsgsize") == 2 << 20);
    CHECK(value("sndhwm") == (control ? 256 : 16));
    CHECK(value("rcvhwm") == (control ? 256 : 16));
    CHECK(value("immediate") == (control ? 0 : 1));
    CHECK(value("connect_timeout") == 2000);
    CHECK(value("handshake_ivl") == 5000);
    CHECK(value("reconnect_ivl") == 100);
    CHECK(value("reconnect_ivl_max") == 3000);
    CHECK(value("ipv6") == 1);
    CHECK(value("tcp_maxrt") == (control ? 6000 : 15000));
    CHECK(value("tcp_keepalive") == (control ? 1 : -1));
  }
}

TEST_CASE("Connections to many peers keep to their share and those in use stay open") {
  const daemon::DescriptorShares few{.sending = 40};
  const auto a = transport(few), b = transport({}, "0.0.0.0");
  const std::size_t before = daemon::count_descriptors().used;
  std::size_t heard = 0;
  const auto count = [&](Plane, std::span<const std::byte> header, const Payload&) {
    heard += header.size() == 4;
  };
  const auto look_until = [&](const auto& is_done) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!is_done() && std::chrono::steady_clock::now() < until)
      b->poll(std::chrono::milliseconds(5), {}, count);
  };
  std::size_t sent = 0;
  for (int k = 2; k < 62; ++k) {
    const std::string host = "127.0.0." + std::to_string(k);
    a->send({host, b->control().port}, Plane::control, gossip::Frames(gossip::Frame{"other", {}}));
    a->send({host, b->bulk().port}, Plane::bulk, gossip::Frames(gossip::Frame{"other", {}}));
    a->send({"127.0.0.1", b->control().port}, Plane::control,
            gossip::Frames(gossip::Frame{"kept", {}}));
    ++sent;
  }
  look_until([&] { return heard == sent; });
  CHECK(heard == sent);
  // One more for the other end of each connection, which takes at least two.
  const auto taken = [&] { return daemon::count_descriptors().used - before; };
  look_until([&] { return taken() <= few.sending + few.sending / 2; });
  CHECK(taken() <= few.sending + few.sending / 2);
}

TEST_CASE("Of too many connections from others those heard longest ago are closed") {
  constexpr std::size_t kOthers = 30;
  const daemon::DescriptorShares few{.receiving = 8};
  const auto a = transport(), b = transport(few);
  std::size_t heard = 0, sent = 0;
  const auto look_until = [&](const auto& is_done) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!is_done() && std::chrono::steady_clock::now() < until)
      b->poll(std::chrono::milliseconds(5), {},
              [&](Plane, std::span<const std::byte>, const Payload&) { ++heard; });
  };
  const auto say = [&] {
    a->send(b->control(), Plane::control, gossip::Frames(gossip::Frame{"hello", {}}));
    ++sent;
    look_until([&] { return heard == sent; });
  };
  say();
  const std::size_t before = daemon::count_descriptors().used;
  std::vector<daemon::RawClient> others;
  for (std::size_t k = 0; k < kOthers; ++k) {
    others.push_back(sender(b->control()));
    say();
  }
  const auto taken = [&] { return daemon::count_descriptors().used - before; };
  look_until([&] { return taken() < kOthers + few.receiving; });
  CHECK(taken() < kOthers + few.receiving);
  say();
  CHECK(heard == sent);
}

TEST_CASE("A vector of many chunks arrives whole and unchanged") {
  const auto a = transport(), b = transport();
  const gossip::Message sent = message(20'000'003);
  gossip::Cutter cutter;
  gossip::Assembler assembler;
  assembler.set_payload_limit(sent.payload.size());
  a->send(b->bulk(), Plane::bulk, cutter.cut(sent));
  std::optional<gossip::Message> received;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!received && std::chrono::steady_clock::now() < until) {
    a->poll(std::chrono::milliseconds(5), {}, [](auto&&...) {});
    b->poll(std::chrono::milliseconds(5), {},
            [&](Plane plane, std::span<const std::byte> bytes, Payload body) {
              CHECK(plane == Plane::bulk);
              auto header = gossip::decode_header(bytes);
              REQUIRE(header.has_value());
              auto whole = assembler.add(Time{}, std::move(*header), std::move(body));
              REQUIRE(whole.has_value());
              if (*whole) received = std::move(**whole);
            });
  }
  REQUIRE(received.has_value());
  CHECK(bytes_of(received->payload) == bytes_of(sent.payload));
}

TEST_CASE("A vector whose connection breaks in the middle ends there") {
  const auto a = transport();
  auto b = transport();
  const Endpoint bulk = b->bulk();
  gossip::Cutter cutter;
  a->send(bulk, Plane::bulk, cutter.cut(message(100'000'000)));
  const auto poll = [&](const std::function<bool()>& is_done) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    std::size_t vectors = 0, words = 0;
    while (!is_done() && std::chrono::steady_clock::now() < until) {
      a->poll(std::chrono::milliseconds(5), {}, [](auto&&...) {});
      if (b)
        b->poll(std::chrono::milliseconds(5), {},
                [&](Plane, std::span<const std::byte>, const Payload& body) {
                  ++(body.empty() ? words : vectors);
                });
      if (words > 0) break;
    }
    return std::pair(vectors, words);
  };
  int looks = 0;
  CHECK(poll([&] { return ++looks > 20; }).first > 0);
  REQUIRE(a->has_queued());
  b.reset();
  auto again = Transport::bind({"127.0.0.1", 0}, bulk);
  REQUIRE(again.has_value());
  b = std::move(*again);
  CHECK(poll([&] { return !a->has_queued(); }) == std::pair<std::size_t, std::size_t>(0, 0));
  a->send(bulk, Plane::bulk, cutter.cut(message(0)));
  CHECK(poll([] { return false; }) == std::pair<std::size_t, std::size_t>(0, 1));
}

TEST_CASE("Sending to nobody neither waits nor piles up") {
  const auto a = transport();
  gossip::Cutter cutter;
  const gossip::Message sent = message(1'000'000);
  for (int i = 0; i < 1000; ++i) a->send({"127.0.0.1", 1}, Plane::bulk, cutter.cut(sent));
  CHECK(a->dropped() >= 990);
  for (int i = 0; i < 1000; ++i)
    a->send({"127.0.0.1", 1}, Plane::control, gossip::Frames(gossip::Frame{"hello", {}}));
  CHECK(a->dropped() >= 1600);
  a->hang_up({"127.0.0.1", 1});
}

TEST_CASE("A port in use is named in the error") {
  const auto a = transport();
  const auto taken = Transport::bind(a->control(), {"127.0.0.1", 0});
  REQUIRE_FALSE(taken.has_value());
  CHECK(taken.error().text.find("listen.control") != std::string::npos);
  CHECK(taken.error().text.find(std::to_string(a->control().port)) != std::string::npos);
}
