// Wire: the ZeroMQ sockets of a node. One ROUTER accepts the connections of both planes at one
// port, and one for each plane dials; each connection carries frames both ways. After a connection
// has broken, frames received over it can still be read. One thread owns the wire. Each change
// makes one of descriptors() readable only once; then read all events and frames.
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
  // `key`: the node's CURVE key, as server and as client; null: connections are not encrypted.
  Wire(zmq::context_t& context, const KeyPair* key);
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire();

  // Listens at an address; port 0: any free port. The error says what to do, and is kExitFailed if
  // the port is in use.
  Outcome<Endpoint> bind(const Endpoint& at, std::string_view key);

  // In the order in which they are read: control first.
  enum class Socket : std::uint8_t { dials_control, accepts, dials_bulk };
  static constexpr std::array kSockets{Socket::dials_control, Socket::accepts, Socket::dials_bulk};
  static Socket dialler(gossip::Plane plane) {
    return plane == gossip::Plane::control ? Socket::dials_control : Socket::dials_bulk;
  }
  // Identifies a connection: its socket, and its name there.
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
  // Begins to connect; frames may be sent at once. Nothing if there are too many sockets or the
  // address is invalid. `server`: the key that the other end must prove. REQUIRES `server` if this
  // node has a key, and hang_up() after an earlier dial of this plane to `to`.
  std::optional<Dialled> dial(const Endpoint& to, gossip::Plane plane,
                              const std::optional<CurveKey>& server);
  // Closes a connection that was dialled to `to`, broken or not; unread frames are dropped.
  // REQUIRES a socket that dials.
  void hang_up(const Endpoint& to, Socket socket);
  // Sets the timeout of control on an accepted connection, since all are accepted with that of
  // bulk.
  static void hasten(int descriptor);

  enum class Sent { whole, later, gone };  // later: its queue is full; gone: no such connection
  // Sends one frame, or what is left of it: `sent_header` keeps whether the header was sent.
  Sent send(const Route& route, const gossip::Frame& frame, bool& sent_header);

  // A received frame.
  struct Arrived {
    Route route;
    int descriptor = -1;
    std::int64_t bytes = 0;  // of the frame on the connection
    std::span<const std::byte> header = {};
    Payload body = {};
  };
  // The next frame; nothing: none waits. A frame of too many parts gets an empty header.
  std::optional<Arrived> receive(Socket socket);
  // The key that the sender of the last frame has proved, if it came over an accepted connection.
  std::optional<CurveKey> proven();

  // A connection opened, broke, or could not be made (vain); or its handshake failed, and it breaks
  // next. unlike: only one end wants encryption; refused: the other end refuses this node's key;
  // failed: the handshake is invalid; ended: the other end closed the connection.
  struct Event {
    enum class Kind { opened, broken, vain, unlike, refused, failed, ended };
    Kind kind = Kind::vain;
    int descriptor = -1;  // of the system; unset for a handshake
    std::string address;
  };
  std::optional<Event> next_event(Socket socket);

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
