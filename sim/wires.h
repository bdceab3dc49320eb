// Wires: the connections between the nodes of a world. Each node has a Wire, over which it uses
// gossip/transport/ as a process does. Opening a connection takes a round trip; where nobody
// listens it is in vain, and where nothing passes, or the other node is hidden, it is tried until
// gossip::kConnectTimeout. Frames keep their order, unless the network is told to reorder them;
// its chances meet all but the first frame each way, the greeting. TCP sends the packets that begin
// and end a connection again until they pass.
//
// A connection ends with either process, or when either end closes it. One that a NAT has forgotten
// swallows all that is sent, until an end closes it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/endpoint.h"
#include "base/time.h"
#include "gossip/transport/wire.h"
#include "sim/damage.h"
#include "sim/faults.h"
#include "sim/network.h"

namespace starling::sim {

class Wires {
 public:
  // One end of a connection, which is its descriptor too; that of the dialling node is even.
  using End = int;

  // What the world keeps until its time: a task, which the world does then, or something that
  // comes to a node, which the world hands back.
  struct Task {
    std::function<void()> act;
  };
  struct Notice {
    End end;  // at which the connection opens or ends
    gossip::Wire::Event::Kind kind;
  };
  struct Carried {
    gossip::Frame frame;
    Damage::Done damage = Damage::Done::nothing;
    bool is_greeting = false;
    std::uint64_t heard_by = 0;  // the life of the receiver that got it; 0: none yet
  };
  struct Delivery {
    End end;  // that receives
    std::shared_ptr<Carried> carried;
    bool has_arrived = false;  // it waits only for a paused process
  };
  using Event = std::variant<Task, Notice, Delivery>;
  using Post = std::function<void(Time, Event)>;

  // REQUIRES that `network` and `now` outlive it. `post`: to call that at its time.
  Wires(Network& network, std::size_t nodes, const Time& now, Post post);
  Wires(const Wires&) = delete;
  Wires& operator=(const Wires&) = delete;

  // A process of the node begins, and gives others the address.
  void begin(std::size_t node, const Endpoint& control, bool is_hidden);
  void end(std::size_t node);
  // A NAT forgets the connections of the hidden node.
  void forget(std::size_t node);

  // Of a payload in one frame.
  std::size_t chunk_bytes() const { return network_->options().chunk_bytes; }

  // Of the node's process.
  gossip::Wire& wire(std::size_t node) { return machines_[node].wire; }
  // Whether the wire has an event.
  bool has_events(std::size_t node) const { return machines_[node].wire.has_events(); }
  // The node that gives, or gave last, the address.
  std::optional<std::size_t> find(const Endpoint& at) const;
  const Endpoint& address(std::size_t node) const { return machines_[node].control; }
  bool is_hidden(std::size_t node) const { return machines_[node].is_hidden; }

  // ---- what the world hands back
  // The process that it is for; nothing: its end of the connection is closed.
  std::optional<std::size_t> owner(End end) const;
  // The frame has come to the machine. Returns whether it is for the process now.
  bool arrive(Delivery& delivery);
  // The wire has the event.
  void notify(const Notice& notice);
  // REQUIRES an owner.
  gossip::Wire::Arrived read(const Delivery& delivery) const;
  std::size_t sender_of(const Delivery& delivery) const { return node_at(delivery.end ^ 1); }

  FaultCounts counts() const { return counts_; }

 private:
  // Begins or ends a connection at that end.
  struct Packet {
    End end;
    bool is_first = true;
    Time until{};  // of a beginning: when to give up
  };
  class NodeWire : public gossip::Wire {
   public:
    NodeWire(Wires& wires, std::size_t node) : wires_(&wires), node_(node) {}

    Flow flow(int descriptor) const override { return wires_->flow(descriptor); }
    bool shut(int descriptor) override;
    void hasten(int) override {}
    std::optional<Dialled> dial(const Endpoint& to, gossip::Plane plane,
                                const std::optional<CurveKey>& server) override;
    void hang_up(const Endpoint& to, Socket socket) override;
    Sent send(const Route& route, const gossip::Frame& frame, bool& sent_header) override;
    std::optional<Event> next_event(Socket socket) override;

    bool has_events() const { return !events_.empty(); }
    void add(Socket socket, Event event) { events_.emplace_back(socket, std::move(event)); }
    void clear() { events_.clear(); }

   private:
    Wires* wires_;
    std::size_t node_;
    std::deque<std::pair<Socket, Event>> events_;
  };
  struct Machine {
    NodeWire wire;
    bool runs = false, is_hidden = false;
    Endpoint control = {};
    std::set<End> ends = {};  // that are not closed
  };
  struct LinkEnd {
    std::size_t node = 0;
    enum class State { opening, open, closed } state = State::opening;
    std::deque<gossip::Frame> held = {};  // until it is open
    std::size_t under_way = 0;            // frames that it has sent
    double under_way_bytes = 0;           // with their weights
    std::int64_t received_bytes = 0;
    Time sent{}, received{}, acknowledged{};  // the last of each
    Time arrives{};                           // when all that it has sent has arrived
    std::optional<Time> lost = {};            // since when what it sends is not acknowledged
  };
  struct Link {
    gossip::Plane plane;
    Endpoint to;  // as dialled
    bool is_forgotten = false;
    std::array<LinkEnd, 2> ends;
  };

  static std::size_t half(End end) { return static_cast<std::size_t>(end) / 2; }
  Link* find(End end) const;
  std::size_t node_at(End end) const { return links_[half(end)]->ends[end % 2].node; }
  bool is_blocked(const Link& link) const;
  End dial(std::size_t node, const Endpoint& to, gossip::Plane plane);
  void post(Time at, const Packet& packet);
  void pass(const Packet& packet);
  void begin_at(Link& link, const Packet& packet);
  void open(End end);
  void close(End end);
  double bytes_of(const gossip::Frame& frame) const;
  gossip::Wire::Sent send(End end, const gossip::Frame& frame);
  void transmit(Link& link, End end, const gossip::Frame& frame);
  gossip::Tcp::Flow flow(End end);

  Network* network_;
  const Time* now_;
  Post post_;
  std::vector<Machine> machines_;
  std::unordered_map<std::string, std::size_t> by_host_;
  std::vector<std::unique_ptr<Link>> links_;  // by half of an end; null: both ends are closed
  FaultCounts counts_;
};

}  // namespace starling::sim
