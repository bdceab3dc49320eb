// Connections: the connections of a node that are open or being dialled, by either end.
// ZeroMQ delivers only whole messages and buffers the parts of an unfinished one without limit; its
// limits are for one part and for whole messages. So the bytes that the kernel received on a
// connection are compared with those read from the socket, and a connection that holds more than
// kHeldBytesLimit is closed. Beyond Limits the least recently used are closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/endpoint.h"
#include "base/ids.h"
#include "gossip/transport/connection.h"
#include "gossip/transport/guard.h"
#include "gossip/transport/handshakes.h"
#include "gossip/transport/strangers.h"
#include "gossip/transport/wire.h"

namespace starling::gossip {

class Connections {
 public:
  using Route = Wire::Route;
  // More than all queues of a regular connection hold together.
  static constexpr std::int64_t kHeldBytesLimit = 64 << 20;
  // A connection is cut if nothing was acknowledged for kCutPatience despite this many
  // retransmissions.
  static constexpr int kCutSendings = 4;

  struct Limits {
    std::size_t dialled, accepted;
  };
  // `wire` and `guard` must outlive this.
  Connections(Wire& wire, Guard& guard, Limits limits)
      : wire_(wire), guard_(guard), limits_(limits), handshakes_(guard), strangers_(wire) {}

  // The connection; null: unknown, or closed by this end.
  Connection* find(const Route& route);
  // The newest open connection on which the node has greeted.
  std::optional<Route> with(NodeId peer, Plane plane) const;
  // Whether nothing was acknowledged for a second despite two retransmissions, or it is gone.
  bool is_silent(const Route& route) const;
  // Whether the peer may not have read all that was sent over it.
  bool is_sending(const Connection& connection) const;
  // Marks a connection that sending has found gone; its event follows.
  void lost(Time now, const Route& route);
  // Whether neither data nor acknowledgements have arrived over it for kCutPatience.
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
                            Time now);
  // Counts a frame received over a known connection.
  void heard(Time now, Connection& connection, const Wire::Arrived& arrived);
  // Adds an accepted connection with its first frame.
  Connection& meet(const Wire::Arrived& arrived, Plane plane, Time now);
  // Marks the connection as used; cancels close_soon().
  void used(Connection& connection) {
    connection.last_use = ++uses_;
    connection.closes_at.reset();
  }
  // Closes the connection of a stranger at once.
  void refuse(int descriptor) { strangers_.refuse(descriptor); }
  // The address of the other end, for people.
  std::string who(const Wire::Arrived& arrived) const;

  using Closed = std::function<void(const Route&, const Connection&)>;
  // Processes the events of the wire; calls `closed` for each connection that is gone.
  void follow(Time now, const Closed& closed);
  // Closes the older connections with the same peer whose certificate has another key.
  void close_superseded(const Connection& by, const Closed& closed);
  // Closes a connection: at once; or soon, when it has had `linger` to send and, if the peer is
  // known, no data have moved on it for as long.
  void close(const Route& route, const Closed& closed);
  void close_soon(const Route& route, Time now, Duration linger);
  struct Looked {
    std::vector<std::int64_t> full;  // how many bytes each that held too much did
    std::size_t closed = 0;          // all that have closed since the last look
  };
  // Closes the connections that hold too much; also those that are cut, due by close_soon(),
  // without a greeting, of revoked certificates, or beyond the limits.
  Looked look(Time now, const Closed& closed);

 private:
  void take(const Wire::Event& event, Wire::Socket socket, Time now, const Closed& closed);
  std::optional<Route> owner(const Wire::Event& event, Wire::Socket socket) const;
  std::optional<Route> least_used(bool is_dialled) const;
  std::optional<Tcp::Flow> flow(const Connection& connection) const;
  std::vector<Route> revoked(Time now);
  bool is_due(const Connection& connection, const std::optional<Tcp::Flow>& flow, Time now);
  void close_unused(const Closed& closed);

  Wire& wire_;
  Guard& guard_;
  const Limits limits_;
  std::map<Route, Connection> all_;
  std::set<Wire::Socket> unread_;  // those with a connection that ended since all_read()
  std::vector<NodeId> cut_;
  Handshakes handshakes_;
  Strangers strangers_;
  std::uint64_t revocations_ = 0;  // the number of the list applied last
  std::size_t closings_ = 0;
  std::uint64_t uses_ = 0;
};

}  // namespace starling::gossip
