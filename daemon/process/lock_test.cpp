#include "daemon/process/lock_test.h"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <zmq.hpp>

#include "base/check.h"
#include "daemon/process/zap_handler.h"
#include "daemon/process/zmq_wire.h"

namespace starling::daemon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kHandshakePatience{5};
constexpr int kWatched = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                         ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                         ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_DISCONNECTED;

void set_key(zmq::socket_t& socket, int option, std::span<const std::byte> bytes) {
  ENSURE(zmq_setsockopt(socket.handle(), option, bytes.data(), bytes.size()) == 0, "a CURVE key");
}

void dial_with(zmq::socket_t& socket, const KeyPair& own, const CurveKey& server) {
  set_key(socket, ZMQ_CURVE_PUBLICKEY, curve_key(own.public_key()).value().bytes);
  set_key(socket, ZMQ_CURVE_SECRETKEY, own.curve_secret().bytes());
  set_key(socket, ZMQ_CURVE_SERVERKEY, server.bytes);
}

// Whether a connection opens; nothing: undecided in time. Calls `turn` while it waits.
std::optional<bool> opens(const std::string& address,
                          const std::function<void(zmq::socket_t&)>& prepare,
                          const std::function<void()>& turn) {
  zmq::context_t context(1);
  zmq::socket_t socket(context, zmq::socket_type::dealer), events(context, zmq::socket_type::pair);
  socket.set(zmq::sockopt::linger, 0);
  prepare(socket);
  zmq_socket_monitor(socket.handle(), "inproc://events", kWatched);
  events.connect("inproc://events");
  socket.connect(address);
  std::optional<bool> result;
  for (const auto until = Clock::now() + kHandshakePatience; !result && Clock::now() < until;
       turn()) {
    zmq::pollitem_t item{events.handle(), 0, ZMQ_POLLIN, 0};
    zmq::poll(&item, 1, std::chrono::milliseconds(1));
    zmq::message_t event;
    if (!events.recv(event, zmq::recv_flags::dontwait)) continue;
    std::uint16_t kind = 0;
    std::memcpy(&kind, event.data(), sizeof(kind));
    result = kind == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
  }
  zmq_socket_monitor(socket.handle(), nullptr, 0);
  return result;
}

}  // namespace

Result<void> test_locks(const gossip::Credentials& credentials) {
  zmq::context_t context(1);
  ZmqWire wire(context, &credentials.key);
  const auto bound = wire.bind({"127.0.0.1", 0}, "the self-test");
  if (!bound) return fail("{}", bound.error().text);
  bool is_barred = true;
  ZapHandler zap(context, [&](const CurveKey&) { return is_barred; });
  const auto turn = [&] { zap.answer(); };
  const KeyPair& own = credentials.key;
  const CurveKey server = curve_key(own.public_key()).value();
  Secret other_seed(kKeyBytes);
  other_seed.bytes()[0] = std::byte{1};
  const CurveKey other = curve_key(KeyPair(other_seed).public_key()).value();
  const auto rightly = [&](zmq::socket_t& socket) { dial_with(socket, own, server); };
  struct Try {
    std::string_view name;
    std::function<void(zmq::socket_t&)> prepare;
  };
  const Try tries[] = {
      {"without a key", [](zmq::socket_t&) {}},
      {"with a password",
       [](zmq::socket_t& socket) {
         socket.set(zmq::sockopt::plain_username, "a");
         socket.set(zmq::sockopt::plain_password, "b");
       }},
      {"with another server's key", [&](zmq::socket_t& socket) { dial_with(socket, own, other); }},
      {"whose key is barred", rightly}};
  for (const Try& attempt : tries)
    if (opens(ZmqWire::url(*bound), attempt.prepare, turn) != false)
      return fail(
          "self-test: this machine's ZeroMQ lets connections in {}; this node does not "
          "start, because it could not keep strangers out",
          attempt.name);
  is_barred = false;
  if (opens(ZmqWire::url(*bound), rightly, turn) != true)
    return fail(
        "self-test: no encrypted connection opens with this machine's ZeroMQ; expected a "
        "libzmq that was built with libsodium");
  return {};
}

}  // namespace starling::daemon
