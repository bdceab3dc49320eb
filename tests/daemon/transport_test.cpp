#include "daemon/transport.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstring>
#include <vector>

#include "base/prng.h"

using namespace starling;
using daemon::Transport;
using gossip::Plane;

namespace {

std::unique_ptr<Transport> transport() {
  auto bound = Transport::bind({"127.0.0.1", 0}, {"127.0.0.1", 0});
  REQUIRE(bound.has_value());
  return std::move(*bound);
}

gossip::Message message(std::size_t bytes) {
  std::vector<std::byte> values(bytes);
  Prng prng(3);
  for (std::byte& value : values) value = static_cast<std::byte>(prng.next());
  return {{1, NodeId{2}, 3, 4},
          gossip::Round{.epoch = 1, .round = 2, .degree = 3},
          Payload::copy_of(values)};
}

std::vector<std::byte> bytes_of(const Payload& payload) {
  std::vector<std::byte> bytes(payload.size());
  payload.copy_to(0, bytes);
  return bytes;
}

}  // namespace

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
