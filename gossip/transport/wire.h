// Wire: the connections of a node as the layer above sees them: what it can dial, send, read and
// measure. One socket accepts the connections of both planes, and one for each plane dials; each
// connection carries frames both ways. After a connection has broken, frames received over it can
// still be read. One thread owns a wire. The daemon has ZmqWire, the simulator sim/wires.h. To add
// another transport: a Wire of its own, what receives and waits as
// daemon/process/zmq_transport.cpp does, daemon/process/loop.cpp, daemon/cli/command_run.cpp,
// daemon/process/port_probe.cpp (which knows ZMTP).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/endpoint.h"
#include "base/keys.h"
#include "base/payload.h"
#include "base/time.h"
#include "gossip/wire/message.h"
#include "gossip/wire/transfer.h"

namespace starling::gossip {

// The open connections of a wire as the system's TCP sees them, by descriptor.
class Tcp {
 public:
  virtual ~Tcp() = default;

  // What has passed over a connection, and what is on its way; all zero: there is none.
  struct Flow {
    std::int64_t received_bytes = 0;  // from the network; not all may be read
    bool is_unsent = false;           // some bytes have not left
    bool is_unacknowledged = false;   // some that have left are not acknowledged
    int retransmissions = 0;          // of these
    Duration since_ack{}, since_sent{}, since_received{};
  };
  virtual Flow flow(int descriptor) const = 0;
  // Shuts the connection down: its event follows, and what it held is freed. Returns whether it was
  // open.
  virtual bool shut(int descriptor) = 0;
  // Sets the timeout of control on an accepted connection, since all are accepted with that of
  // bulk.
  virtual void hasten(int descriptor) = 0;
};

class Wire : public Tcp {
 public:
  // In the order in which they are read: control first.
  enum class Socket : std::uint8_t { dials_control, accepts, dials_bulk };
  static constexpr std::array kSockets{Socket::dials_control, Socket::accepts, Socket::dials_bulk};
  static Socket dialler(Plane plane) {
    return plane == Plane::control ? Socket::dials_control : Socket::dials_bulk;
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
  virtual std::optional<Dialled> dial(const Endpoint& to, Plane plane,
                                      const std::optional<CurveKey>& server) = 0;
  // Closes a connection that was dialled to `to`, broken or not; unread frames are dropped.
  // REQUIRES a socket that dials.
  virtual void hang_up(const Endpoint& to, Socket socket) = 0;

  enum class Sent { whole, later, gone };  // later: its queue is full; gone: no such connection
  // Sends one frame, or what is left of it: `sent_header` keeps whether the header was sent.
  virtual Sent send(const Route& route, const Frame& frame, bool& sent_header) = 0;

  // A received frame.
  struct Arrived {
    Route route;
    int descriptor = -1;
    std::int64_t bytes = 0;  // of the frame on the connection
    std::span<const std::byte> header = {};
    Payload payload = {};
    std::optional<CurveKey> proven = {};  // of a greeting to the socket that accepts: the sender's
  };

  // A connection opened, broke, or could not be made (vain); or its handshake failed, and it breaks
  // next. unlike: only one end wants encryption; refused: the other end refuses this node's key;
  // failed: the handshake is invalid; ended: the other end closed the connection.
  struct Event {
    enum class Kind { opened, broken, vain, unlike, refused, failed, ended };
    Kind kind = Kind::vain;
    int descriptor = -1;  // of an open connection; unset for a handshake
    std::string address;  // of a dialled connection as in Dialled; of an accepted one the other end
  };
  virtual std::optional<Event> next_event(Socket socket) = 0;
};

}  // namespace starling::gossip
