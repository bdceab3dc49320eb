// Connections: the connections of a node that are open or being dialled, by either end.
// ZeroMQ delivers only whole messages and buffers the parts of an unfinished one without limit; its
// limits are for one part and for whole messages. So the bytes that the kernel received on a
// connection are compared with those read from the socket, and a connection that holds more than
// kHeldBytesLimit is closed. Beyond Limits the least recently used are closed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/endpoint.h"
#include "base/ids.h"
#include "daemon/process/guard.h"
#include "daemon/process/wire.h"

namespace starling::daemon {

struct Connection {
  using Clock = std::chrono::steady_clock;

  gossip::Plane plane = {};                             // as dialled, or as its peer greeted
  std::optional<NodeId> peer = {};                      // nothing before its greeting
  std::optional<gossip::Certificate> certificate = {};  // of the peer, if there are keys
  Endpoint at = {};                                     // the address that was dialled
  std::optional<CurveKey> key = {};                     // that the other end proves
  std::string address = {};                             // of the other end, as in Wire::Event
  int descriptor = -1;                                  // of the system; -1: not opened yet
  Clock::time_point since{};                            // when it was dialled, or greeted
  std::int64_t received_bytes = 0;
  std::uint64_t last_use = 0;
  bool is_closing = false;                          // shut by this end, not yet by ZeroMQ
  std::optional<Clock::time_point> ended = {};      // when it broke; frames may be unread
  bool is_read = false;                             // it has broken, and no frame is unread
  std::optional<Clock::time_point> closes_at = {};  // when to close it, if no data move
};

// Whether the peer may not have read all that was sent over it.
bool is_sending(const Connection& connection);

class Connections {
 public:
  using Clock = Connection::Clock;
  using Route = Wire::Route;
  using Plane = gossip::Plane;
  // More than all queues of a regular connection hold together.
  static constexpr std::int64_t kHeldBytesLimit = 64 << 20;
  // A connection without a greeting is closed after this. Longer: strangers hold descriptors.
  static constexpr std::chrono::seconds kGreetingPatience{5};
  // A connection is cut if nothing was acknowledged for gossip::kCutPatience despite this many
  // retransmissions.
  static constexpr int kCutSendings = 4;

  struct Limits {
    std::size_t dialled, accepted;
  };
  // `wire` and `guard` must outlive this.
  Connections(Wire& wire, Guard& guard, Limits limits)
      : wire_(wire), guard_(guard), limits_(limits) {}

  // The connection; null: unknown, or closed by this end.
  Connection* find(const Route& route);
  // The newest open connection on which the node has greeted.
  std::optional<Route> with(NodeId peer, Plane plane) const;
  // Whether nothing was acknowledged for a second despite two retransmissions, or it is gone.
  bool is_silent(const Route& route) const;
  // Marks a connection that sending has found gone; its event follows.
  void lost(const Route& route);
  // Whether neither data nor acknowledgements have arrived over it for gossip::kCutPatience.
  bool is_idle(const Route& route) const;
  // The peers whose control connection was closed since the last call because it was cut.
  std::vector<NodeId> take_cut() { return std::exchange(cut_, {}); }
  // A connection that was dialled to the address, open or not.
  std::optional<Route> dialled_to(const Endpoint& at, Plane plane) const;
  // Whether no frame is unread of a connection that was dialled to the address and broke. ZeroMQ
  // drops unread frames when the address is dialled again.
  bool is_read(const Endpoint& at, Plane plane) const;
  // The socket has no unread frame.
  void all_read(Wire::Socket socket);
  // Begins to connect. Nothing if the wire cannot. REQUIRES !dialled_to(to, plane) and is_read(to,
  // plane).
  std::optional<Route> dial(const Endpoint& to, Plane plane, const std::optional<CurveKey>& key,
                            Clock::time_point now);
  // Counts a frame received over a known connection.
  void heard(Connection& connection, const Wire::Arrived& arrived);
  // Adds an accepted connection with its first frame.
  Connection& meet(const Wire::Arrived& arrived, Plane plane, Clock::time_point now);
  // Marks the connection as used; cancels close_soon().
  void used(Connection& connection) {
    connection.last_use = ++uses_;
    connection.closes_at.reset();
  }
  // Closes the connection of a stranger at once.
  void refuse(int descriptor);
  // The address of the other end, for people.
  std::string who(const Wire::Arrived& arrived) const;

  using Closed = std::function<void(const Route&, const Connection&)>;
  // Processes the events of the wire; calls `closed` for each connection that is gone.
  void follow(Clock::time_point now, const Closed& closed);
  // Closes the older connections with the same peer whose certificate has another key.
  void close_superseded(const Connection& by, const Closed& closed);
  // Closes a connection: at once; or soon, when it has had half a second to send and, if the peer
  // is known, no data have moved on it for as long.
  void close(const Route& route, const Closed& closed);
  void close_soon(const Route& route, Clock::time_point now);
  // Closes the connections that hold too much, and returns their number; also those that are cut,
  // due by close_soon(), without a greeting, of revoked certificates, or beyond the limits.
  std::size_t look(Clock::time_point now, const Closed& closed);

 private:
  void take(const Wire::Event& event, Wire::Socket socket, Clock::time_point now,
            const Closed& closed);
  std::optional<Route> owner(const Wire::Event& event, Wire::Socket socket) const;
  std::optional<Route> least_used(bool is_dialled) const;
  std::size_t look_at_strangers(Clock::time_point now);
  void forget_stranger(int descriptor);
  void note_failure(const Wire::Event& event, Wire::Socket socket);
  std::vector<Route> revoked();
  bool is_due(const Connection& connection, Clock::time_point now);
  void close_unused(const Closed& closed);

  Wire& wire_;
  Guard& guard_;
  const Limits limits_;
  std::map<Route, Connection> all_;
  struct Stranger {
    Clock::time_point since;
    std::string who;  // its address
  };
  std::map<int, Stranger> strangers_;  // accepted, no frame yet; by descriptor
  std::vector<NodeId> cut_;
  // Handshakes in a row that the other end has ended, by plane and address.
  std::map<std::pair<Wire::Socket, std::string>, int> ended_;
  std::string failure_;            // why the accepted connection that breaks next failed
  std::uint64_t revocations_ = 0;  // the number of the list applied last
  std::size_t closed_ = 0;         // since give_back(); one that held much counts as many
  std::uint64_t uses_ = 0;
};

}  // namespace starling::daemon
