// Wire: the ZeroMQ sockets of a node. One ROUTER accepts the connections of both planes at one
// port, and one for each plane dials; each connection carries frames both ways. A connection that
// breaks carries none any more, but what has come over it can still be read. One thread owns the
// wire. Each of its events makes one of descriptors() readable once; then read everything there is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <zmq.hpp>

#include "base/command_line.h"
#include "base/endpoint.h"
#include "base/keys.h"
#include "base/payload.h"
#include "gossip/wire/message.h"
#include "gossip/wire/transfer.h"

namespace starling::daemon {

class Wire {
 public:
  // `key`: of the node, with which it proves itself at both ends of CURVE; null: connections are
  // not encrypted.
  Wire(zmq::context_t& context, const KeyPair* key);
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire();

  // Listens there; a port of 0 takes a free one. The error says what to do about it;
  // a port in use is kExitFailed.
  Outcome<Endpoint> bind(const Endpoint& at, std::string_view key);

  // In the order in which they are read: control first.
  enum class Socket : std::uint8_t { dials_control, accepts, dials_bulk };
  static constexpr std::array kSockets{Socket::dials_control, Socket::accepts, Socket::dials_bulk};
  static Socket dialler(gossip::Plane plane) {
    return plane == gossip::Plane::control ? Socket::dials_control : Socket::dials_bulk;
  }
  // Names a connection in its socket.
  struct Route {
    Socket socket = Socket::accepts;
    std::string name;

    bool is_dialled() const { return socket != Socket::accepts; }
    auto operator<=>(const Route&) const = default;
  };
  struct Dialled {
    Route route;
    std::string address;  // as in Event
  };
  // Begins to connect. Frames may be sent at once. Nothing if there are too many sockets, or the
  // address cannot be. `server`: the key that the other end must prove. REQUIRES it where there are
  // keys, and that no connection of this plane to `to` was dialled and not hung up.
  std::optional<Dialled> dial(const Endpoint& to, gossip::Plane plane,
                              const std::optional<CurveKey>& server);
  // Ends a connection that was dialled to `to`, broken or not; what was not read is dropped.
  // REQUIRES a socket that dials.
  void hang_up(const Endpoint& to, Socket socket);
  // An accepted connection turns out to be for control: sets what differs from the rules of bulk,
  // with which all are accepted.
  static void hasten(int descriptor);

  enum class Sent { whole, later, gone };  // later: the connection's queue is full
  // Sends one frame, or the part of it that has not been sent: `sent_header` says how far it got.
  Sent send(const Route& route, const gossip::Frame& frame, bool& sent_header);

  // What came out of a socket.
  struct Arrived {
    Route route;
    int descriptor = -1;
    std::int64_t bytes = 0;  // that the frame took on the connection
    std::span<const std::byte> header = {};
    Payload body = {};
  };
  // The next frame; nothing: there is none. A message that is no frame of ours is skipped.
  std::optional<Arrived> receive(Socket socket);
  // The key that the sender of the last frame has proved, if it came over an accepted connection.
  std::optional<CurveKey> proven();

  // A connection has opened, has broken, or was dialled in vain; or its handshake has failed, and
  // it breaks next. unlike: one end alone wants encryption; refused: this node's key is; failed: it
  // proves nothing; ended: the other end has closed it.
  struct Event {
    enum class Kind { opened, broken, vain, unlike, refused, failed, ended };
    Kind kind = Kind::vain;
    int descriptor = -1;  // of the system; not of a handshake
    std::string address;
  };
  std::optional<Event> next_event(Socket socket);

  // Whether a frame or an event can be read.
  bool is_readable() const;
  // To wait for; edges, not levels.
  static constexpr std::size_t kDescriptors = 2 * kSockets.size();
  std::array<int, kDescriptors> descriptors() const;
  // Names and values of the options that the rules fix, read back, for the test of the rules.
  std::map<std::string, int> read_back_options() const;

  static std::string url(const Endpoint& endpoint);

 private:
  // A socket, and what tells its events.
  struct End {
    End(zmq::context_t& context, Socket what, const KeyPair* key);
    zmq::socket_t socket, events;
  };

  static Event::Kind kind_of(std::uint16_t event, std::int32_t value);
  End& end(Socket socket) { return ends_[static_cast<std::size_t>(socket)]; }

  std::array<End, kSockets.size()> ends_;
  std::uint64_t dials_ = 0;  // no name is given twice
  zmq::message_t header_;    // of the last frame received
};

}  // namespace starling::daemon
