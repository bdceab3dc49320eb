// PeerQueues: for each plane and peer, or address, the queue of messages and the connection in use.
#pragma once

#include <array>
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
#include "gossip/transport/connections.h"
#include "gossip/transport/outgoing.h"
#include "gossip/transport/transport.h"
#include "gossip/transport/wire.h"

namespace starling::gossip {

class PeerQueues {
 public:
  using Route = Wire::Route;
  using Address = Transport::Address;
  using Target = Transport::Target;

  // `wire` and `guard` must outlive this. `self`: this node.
  PeerQueues(Wire& wire, Guard& guard, NodeId self, Connections::Limits limits)
      : wire_(wire), guard_(guard), self_(self), connections_(wire, guard, limits) {}

  // See Transport.
  void reach(Time now, NodeId node, const std::optional<Address>& at);
  std::optional<Address> dialled(NodeId node);
  void open(Time now, NodeId node, Plane plane);
  void send(Time now, const Target& to, Plane plane, Frames frames);
  bool answer(NodeId to, Frames frames);
  void hang_up(Time now, const Target& from, Plane plane);

  // Processes the events of the wire, then dials and sends what it can.
  void follow(Time now);
  // Takes a received frame. Returns its connection, whose peer is known, if the frame is for the
  // node; null for a greeting or a frame before one.
  const Connection* hear(const Wire::Arrived& arrived, Time now);
  // See Connections.
  void all_read(Wire::Socket socket) { connections_.all_read(socket); }
  Connections::Looked look(Time now);

  bool has_queued() const { return !busy_.empty(); }
  // When to call follow() next even if nothing arrives.
  Time deadline(Time now) const;
  std::uint64_t dropped() const { return dropped_; }
  std::size_t in_use() const;

 private:
  struct Key {
    Plane plane;
    std::variant<NodeId, std::pair<std::string, std::uint16_t>> whom;  // an address is a pair

    auto operator<=>(const Key&) const = default;
  };
  struct PeerQueue {
    explicit PeerQueue(Plane plane) : waiting(plane) {}

    Address to = {};
    std::optional<Route> via = {};   // in use; the peer has greeted on it
    std::optional<Route> next = {};  // a better one, to be used once nothing is under way
    Outgoing waiting;
    Time next_dial{};
    std::chrono::milliseconds pause = kRedialLeast;
  };
  static constexpr std::chrono::milliseconds kRedialLeast{100}, kRedialMost{3000};
  // ZeroMQ reports room in a full queue only once, and another query may consume the report.
  static constexpr std::chrono::milliseconds kRetry{20};

  static constexpr std::array kPlanes{Plane::control, Plane::bulk};

  static Key key_of(const Target& target, Plane plane);
  PeerQueue& queue_of(const Key& key);
  bool is_reached(const Key& key) const;
  void forget(Time now, NodeId node);
  void move(PeerQueue& queue, const Address& to);
  void hang_up(Time now, const Key& node);
  // After a cut of the control connection: closes the bulk connection if it is idle, and dials
  // again, since the peer may be unable to dial.
  void renew_bulk(NodeId peer, Time now);
  void attend(const Key& key, Time now);
  std::optional<Route> route_of(const Key& key, const PeerQueue& queue);
  void dial(const Key& key, PeerQueue& queue, Time now);
  void drain(PeerQueue& queue, Time now);
  void change(PeerQueue& queue, const Route& to, Time now);
  void say(const Route& route, const std::string& header);
  void greeted(const Route& route, Connection& connection, Time now);
  void meet(const Wire::Arrived& arrived, Time now);
  bool admit(Time now, const Greeting& greeting, const Wire::Arrived& arrived,
             Connection& connection);
  // Whether to use the connection in place of another one with the same peer.
  bool is_better(const Route& route, const Route& than, NodeId peer) const;
  Connections::Closed closed();

  Wire& wire_;
  Guard& guard_;
  const NodeId self_;
  Connections connections_;
  std::map<NodeId, Address> reached_;  // by reach(); their queues are kept even if unused
  std::map<Key, PeerQueue> queues_;
  std::set<Key> busy_;  // queues in which messages wait; those of control first
  std::uint64_t dropped_ = 0;
};

}  // namespace starling::gossip
