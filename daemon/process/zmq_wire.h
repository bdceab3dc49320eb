// ZmqWire: the ZeroMQ sockets of a node, as a Wire. Each change makes one of descriptors() readable
// only once; then read all events and frames.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <zmq.hpp>

#include "base/command_line.h"
#include "base/endpoint.h"
#include "base/keys.h"
#include "gossip/transport/wire.h"

namespace starling::daemon {

class ZmqWire : public gossip::Wire {
 public:
  // `key`: the node's CURVE key, as server and as client; null: connections are not encrypted.
  ZmqWire(zmq::context_t& context, const KeyPair* key);
  ZmqWire(const ZmqWire&) = delete;
  ZmqWire& operator=(const ZmqWire&) = delete;
  ~ZmqWire() override;

  // Listens at an address; port 0: any free port. The error says what to do, and is kExitFailed if
  // the port is in use.
  Outcome<Endpoint> bind(const Endpoint& at, std::string_view key);

  std::optional<Dialled> dial(const Endpoint& to, gossip::Plane plane,
                              const std::optional<CurveKey>& server) override;
  void hang_up(const Endpoint& to, Socket socket) override;
  Sent send(const Route& route, const gossip::Frame& frame, bool& sent_header) override;
  // The next frame; nothing: none waits. A frame of too many parts gets an empty header.
  std::optional<Arrived> receive(Socket socket);
  std::optional<Event> next_event(Socket socket) override;
  Flow flow(int descriptor) const override;
  bool shut(int descriptor) override;
  void hasten(int descriptor) override;

  // Whether a frame or an event can be read.
  bool is_readable() const;
  // To wait for; edge-triggered.
  static constexpr std::size_t kDescriptors = 2 * kSockets.size();
  std::array<int, kDescriptors> descriptors() const;
  // Names and values of the options that the rules fix, read back, for the test of the rules.
  std::map<std::string, int> read_back_options() const;

  static std::string url(const Endpoint& endpoint);

 private:
  // A socket, and the socket of its events.
  struct End {
    End(zmq::context_t& context, Socket what, const KeyPair* key);
    zmq::socket_t socket, events;
  };

  static Event::Kind kind_of(std::uint16_t event, std::int32_t value);
  End& end(Socket socket) { return ends_[static_cast<std::size_t>(socket)]; }

  std::array<End, kSockets.size()> ends_;
  std::uint64_t dials_ = 0;  // so far; makes names unique
  zmq::message_t header_;    // of the last frame received
};

}  // namespace starling::daemon
