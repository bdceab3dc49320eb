// Lines: what waits for each peer on one plane, and the connection that it goes over.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "base/endpoint.h"
#include "base/ids.h"
#include "base/payload.h"
#include "daemon/process/conversations.h"
#include "daemon/process/outgoing.h"
#include "daemon/process/transport.h"
#include "daemon/process/wire.h"

namespace starling::daemon {

class Lines {
 public:
  using Clock = Conversation::Clock;
  using Route = Wire::Route;
  using Address = Transport::Address;

  // `wire` and `guard` outlive this. `self`: this node.
  Lines(Wire& wire, Guard& guard, gossip::Plane plane, NodeId self, Conversations::Limits limits)
      : wire_(wire),
        guard_(guard),
        plane_(plane),
        self_(self),
        conversations_(wire, guard, limits) {}

  // See Transport.
  void reach(NodeId node, const Address& at);
  void forget(NodeId node);
  void open(NodeId node);
  void send(const Transport::Target& to, gossip::Frames frames);
  bool answer(NodeId to, gossip::Frames frames);
  void hang_up(const Transport::Target& from);

  // Takes events, greets, dials, and sends what it can.
  void follow(Clock::time_point now);
  // A frame came out of the socket. Returns the peer that sent it, if the frame is for the node:
  // greetings, and frames before one, are not.
  std::optional<NodeId> hear(const Wire::Arrived& arrived, Clock::time_point now);
  // Nothing can be read any more from connections that this end dialled.
  void all_read() { conversations_.all_read(); }
  // See Conversations::look().
  std::size_t look(Clock::time_point now) { return conversations_.look(now, closed()); }

  // See Conversations::take_cut().
  std::vector<NodeId> take_cut() { return conversations_.take_cut(); }
  // The connection of the other plane was cut: an idle one is closed, and dialled again, since the
  // peer may be unable to.
  void renew(NodeId peer, Clock::time_point now);

  bool has_queued() const { return !busy_.empty(); }
  // When to call follow() next, though nothing has come.
  Clock::time_point deadline(Clock::time_point now) const;
  std::uint64_t dropped() const { return dropped_; }
  std::size_t in_use() const;

 private:
  using Key = std::variant<NodeId, std::pair<std::string, std::uint16_t>>;
  struct Line {
    explicit Line(gossip::Plane plane) : queue(plane) {}

    Address to = {};
    bool is_reached = false;         // kept although nothing goes over it
    std::optional<Route> via = {};   // on which the peer has greeted
    std::optional<Route> next = {};  // a better one, for the next message
    Outgoing queue;
    Clock::time_point next_dial{};
    std::chrono::milliseconds pause = kRedialLeast;
  };
  static constexpr std::chrono::milliseconds kRedialLeast{100}, kRedialMost{3000};
  // ZeroMQ tells of room in a full queue once, and a look at something else may take the news.
  static constexpr std::chrono::milliseconds kRetry{20};

  Line& line_of(const Key& key) { return lines_.try_emplace(key, plane_).first->second; }
  static Key key_of(const Transport::Target& target);
  void push(const Key& key, gossip::Frames frames);
  void hang_up(NodeId from);
  void attend(const Key& key, Clock::time_point now);
  std::optional<Route> route_of(const Key& key, const Line& line);
  void dial(Line& line, Clock::time_point now);
  void drain(Line& line, Clock::time_point now);
  void change(Line& line, const Route& to, Clock::time_point now);
  bool can_dial(const Line& line) const;
  void say(const Route& route, const std::string& header);
  void greeted(const Route& route, Conversation& connection, NodeId peer, Clock::time_point now);
  void meet(const Wire::Arrived& arrived, Clock::time_point now);
  bool admit(const Greeting& greeting, const Wire::Arrived& arrived, Conversation& connection);
  // Whether the connection is to be used in place of another one with the same peer.
  bool is_better(const Route& route, const Route& than, NodeId peer) const;
  Conversations::Closed closed();

  Wire& wire_;
  Guard& guard_;
  const gossip::Plane plane_;
  const NodeId self_;
  Conversations conversations_;
  std::map<Key, Line> lines_;
  std::set<Key> busy_;  // lines whose queue is not empty
  std::uint64_t dropped_ = 0;
};

}  // namespace starling::daemon
