// Connections: which messages reach a node. A node that can be dialled is reached by all. A hidden
// one is reached over a connection that it has opened, of the plane of the message: it opens one
// when it sends, and one for vectors when it asks for them. Without one a message to it waits at
// its sender, as in gossip/transport/outgoing.h. Two hidden nodes have no connection.
//
// A connection ends with the process at either end. One that a NAT has forgotten, or on whose way
// nothing passes, swallows what is sent, until an end has had no answer for gossip::kCutPatience:
// that end gives it up. A hidden node then opens another one.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash_table.h"
#include "gossip/io.h"
#include "sim/faults.h"
#include "sim/network.h"

namespace starling::sim {

// A message on its way to the driver of its sender. `from`: the byte of the payload to begin with.
struct Parcel {
  Hop hop;
  gossip::Message message;
  std::size_t from = 0;
};

class Connections {
 public:
  // REQUIRES that `network` outlives it.
  Connections(const Network& network, std::size_t nodes);

  // A process of the node begins, and gives others the address.
  void begin(std::size_t node, const Endpoint& control, bool is_hidden);
  void end(std::size_t node);
  // A NAT forgets the connections of the hidden node.
  void forget(std::size_t node);

  // ---- what the node asks of its driver
  void reach(std::size_t node, const gossip::Reach& reach);
  void hang_up(Time now, std::size_t node, const gossip::Hangup& hangup);
  // Where the node would dial the peer; empty: it does not know.
  const Endpoint& control_of(std::size_t node, NodeId peer) const;
  // The node that gives, or gave last, the address.
  std::optional<std::size_t> find(const Endpoint& at) const;
  // Where the message goes; empty: nowhere, because a hidden node is dialled in vain.
  Endpoint target_of(const gossip::Introduce& introduce) const;
  bool is_hidden(std::size_t node) const { return machines_[node].is_hidden; }
  // What leaves now because of the message: itself, unless it waits or is swallowed, and what has
  // waited for a connection that it opens.
  std::vector<Parcel> post(Time now, Parcel parcel);

  // All are called for every message that a node sends, and may change it.
  using Interceptor = std::function<void(Parcel& parcel)>;
  void intercept(Interceptor interceptor) { interceptors_.push_back(std::move(interceptor)); }

  FaultCounts counts() const { return counts_; }

 private:
  struct Machine {
    bool runs = false, is_hidden = false;
    HashMap<NodeId, const Endpoint*> contacts = {};  // as of gossip::Reach
  };
  struct Line {
    std::size_t hidden = 0, dialled = 0;
    gossip::Plane plane = gossip::Plane::control;

    auto operator<=>(const Line&) const = default;
  };
  struct Connection {
    bool is_forgotten = false;
    std::array<Time, 2> given_up{kNever, kNever};  // by the hidden end, by the other
    Time closes_at = kNever;                       // hung up by the hidden end
  };

  struct Before {
    bool operator()(const Endpoint& a, const Endpoint& b) const {
      return std::tie(a.host, a.port) < std::tie(b.host, b.port);
    }
  };
  Line line_of(const Hop& hop) const;
  bool is_blocked(const Line& line) const;
  bool is_gone(Time now, const Line& line, bool by_hidden) const;
  bool passes(Time now, Connection& connection, bool is_blocked, bool by_hidden);
  void open(Time now, const Line& line, std::vector<Parcel>& leaving);
  void wait(Parcel parcel);

  const Network* network_;
  std::set<Endpoint, Before> addresses_;  // of all contacts
  std::vector<Machine> machines_;
  std::unordered_map<std::string, std::size_t> by_host_;
  std::map<Line, Connection> open_;
  std::map<Line, std::deque<Parcel>> waiting_;  // for the hidden end
  std::vector<Interceptor> interceptors_;
  FaultCounts counts_;
};

}  // namespace starling::sim
