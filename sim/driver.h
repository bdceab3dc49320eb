// Driver: does for a node what it asks of other nodes, as daemon/process/peers.cpp and
// zmq_transport.cpp do in a process: names of hosts and keys of connections are left out. It uses
// the queues and connections of gossip/transport/ over a wire of the world.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>

#include "base/hash_table.h"
#include "base/ids.h"
#include "base/time.h"
#include "gossip/io.h"
#include "gossip/transport/guard.h"
#include "gossip/transport/peer_queues.h"
#include "gossip/wire/transfer.h"
#include "sim/wires.h"

namespace starling::sim {

// A message that a node sends. `from`: the byte of the payload to begin with.
struct Parcel {
  Hop hop;
  gossip::Message message;
  std::size_t from = 0;
};

class Driver {
 public:
  // REQUIRES that `wires` outlives it, and that a process of the node has begun there.
  Driver(Wires& wires, std::size_t node, NodeId self, Time now);
  ~Driver() { wires_->end(node_); }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // ---- what the node asks for
  void reach(Time now, const gossip::Reach& reach);
  void hang_up(Time now, const gossip::Hangup& hangup);
  void abandon(Time now, const gossip::Abandon& abandon);
  // The node to which it would send; nothing: it knows no address.
  std::optional<std::size_t> find(NodeId peer) const;
  void send(Time now, NodeId to, Parcel parcel);
  void introduce(Time now, const gossip::Introduce& introduce, Parcel parcel);

  // ---- what comes
  // Of the wire's events.
  void follow(Time now);
  // What the node gets of the frame; nothing: it was a greeting.
  std::optional<gossip::Received> hear(Time now, gossip::Wire::Arrived arrived);
  // Looks after the connections and sends what waits: to be called at deadline().
  void look(Time now);
  Time deadline(Time now) const { return std::min(next_look_, queues_.deadline(now)); }
  bool has_queued() const { return queues_.has_queued(); }

 private:
  void settle(Time now);
  gossip::Transport::Address address(std::size_t node) const { return {wires_->address(node), {}}; }

  Wires* wires_;
  std::size_t node_;
  gossip::Guard guard_;
  gossip::PeerQueues queues_;
  gossip::Cutter cutter_;
  HashMap<NodeId, std::size_t> contacts_;  // as of gossip::Reach
  Time next_look_;
};

}  // namespace starling::sim
