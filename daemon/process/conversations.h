// Conversations: the connections of a node that are open or being dialled, by either end.
// ZeroMQ delivers whole messages only, and keeps the parts of an unfinished one without limit; its
// limits are for one part, and for whole messages. So the bytes received on a connection are
// compared with those that came out of the socket, and a connection that holds more than a limit is
// closed. If there are too many, those used longest ago are closed.
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

struct Conversation {
  using Clock = std::chrono::steady_clock;

  gossip::Plane plane = {};                             // as it was dialled, or by the greeting
  std::optional<NodeId> peer = {};                      // by its greeting
  std::optional<gossip::Certificate> certificate = {};  // of the peer, where there are keys
  Endpoint at = {};                                     // where it was dialled
  std::optional<CurveKey> key = {};                     // that its other end proves
  std::string address = {};                             // the same, as in Wire::Event
  int descriptor = -1;                                  // of the system; -1: not opened yet
  Clock::time_point since{};
  std::int64_t received_bytes = 0;
  std::uint64_t last_use = 0;
  bool is_closing = false;                          // by this end, and not yet by ZeroMQ
  std::optional<Clock::time_point> ended = {};      // it has broken; frames may still be read
  bool is_read = false;                             // all that came before that
  std::optional<Clock::time_point> closes_at = {};  // when what was sent last has left
};

// The peer may not have read all that was sent over it.
bool is_sending(const Conversation& conversation);

class Conversations {
 public:
  using Clock = Conversation::Clock;
  using Route = Wire::Route;
  using Plane = gossip::Plane;
  // More than all queues of a regular connection hold together.
  static constexpr std::int64_t kHeldBytesLimit = 64 << 20;
  // A connection without a greeting is closed after this. Longer: strangers hold descriptors.
  static constexpr std::chrono::seconds kGreetingPatience{5};
  // A connection is cut when nothing was acknowledged for so long, though it was sent again so
  // often: a NAT has forgotten it, or a cable is out. Longer: a hidden node dials again later.
  // Shorter: lost packets alone end a connection.
  static constexpr std::chrono::seconds kCutPatience{3};
  static constexpr int kCutSendings = 4;

  struct Limits {
    std::size_t dialled, accepted;
  };
  // `wire` and `guard` outlive this.
  Conversations(Wire& wire, Guard& guard, Limits limits)
      : wire_(wire), guard_(guard), limits_(limits) {}

  // Null: not known, or closed by this end.
  Conversation* find(const Route& route);
  // The newest open connection on which the node has greeted.
  std::optional<Route> with(NodeId peer, Plane plane) const;
  // Nothing that was sent lately over it has been acknowledged.
  bool is_silent(const Route& route) const;
  // Sending found that the connection is gone; the event comes later.
  void lost(const Route& route);
  // Neither data nor acknowledgements came over it for as long as a cut takes to be found.
  bool is_idle(const Route& route) const;
  // The peers whose control connection was closed since the last call because it was cut.
  std::vector<NodeId> take_cut() { return std::exchange(cut_, {}); }
  // A connection that was dialled to the address, open or not.
  std::optional<Route> dialled_to(const Endpoint& at, Plane plane) const;
  // Whether all has been read that came over a connection that was dialled to the address and
  // broke. ZeroMQ drops the rest when the address is dialled again.
  bool is_read(const Endpoint& at, Plane plane) const;
  // Nothing can be read any more from the socket.
  void all_read(Wire::Socket socket);
  // Begins to connect; closes another connection where there are too many. Nothing if that cannot
  // be. REQUIRES !dialled_to(to, plane) and is_read(to, plane).
  std::optional<Route> dial(const Endpoint& to, Plane plane, const std::optional<CurveKey>& key,
                            Clock::time_point now);
  // A frame came over a known connection.
  void heard(Conversation& connection, const Wire::Arrived& arrived);
  // The first frame of an accepted connection came: it is known from now on.
  Conversation& meet(const Wire::Arrived& arrived, Plane plane, Clock::time_point now);
  // What is used stays open.
  void used(Conversation& connection) {
    connection.last_use = ++uses_;
    connection.closes_at.reset();
  }
  // Closes a stranger's connection now.
  void refuse(int descriptor);
  // The address of the other end, for people.
  std::string who(const Wire::Arrived& arrived) const;

  using Closed = std::function<void(const Route&, const Conversation&)>;
  // Takes the events of the wire, and tells which connections are gone.
  void follow(Clock::time_point now, const Closed& closed);
  // Closes the connections with the same peer that have proved another key than this one, which has
  // been made later.
  void close_superseded(const Conversation& by, const Closed& closed);
  // Closes a connection at once, or when what was sent has had half a second to leave and, if the
  // peer is known, has been acknowledged.
  void close(const Route& route, const Closed& closed);
  void close_soon(const Route& route, Clock::time_point now);
  // Closes the connections that hold too much, and returns their number; then those that are cut,
  // those without a greeting, those of certificates that are revoked now, and those beyond the
  // limits.
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
  bool is_due(const Conversation& connection, Clock::time_point now);
  void close_unused(const Closed& closed);

  Wire& wire_;
  Guard& guard_;
  const Limits limits_;
  std::map<Route, Conversation> all_;
  struct Stranger {
    Clock::time_point since;
    std::string who;  // its address
  };
  std::map<int, Stranger> strangers_;  // accepted, and nothing came; by descriptor
  std::vector<NodeId> cut_;
  // Handshakes in a row that the other end has ended, by plane and address.
  std::map<std::pair<Wire::Socket, std::string>, int> ended_;
  std::string failure_;            // why the next accepted connection that breaks does so
  std::uint64_t revocations_ = 0;  // the number of the list by which connections were closed
  std::size_t closed_ = 0;         // since memory was given back; a large one counts as many
  std::uint64_t uses_ = 0;
};

}  // namespace starling::daemon
