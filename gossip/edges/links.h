// Links: the edges of this node. Which neighbours are wanted follows from the members and the
// topology, a pure function; an edge is active once both ends have said hello and each has seen the
// other's. Until then nothing is averaged over it, and nobody waits for it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "gossip/members/roster.h"
#include "gossip/options.h"
#include "gossip/outbox.h"
#include "topology/graph.h"

namespace starling::gossip {

// An edge that the topology wants. In a directed graph vectors may go one way only.
struct WantedEdge {
  NodeId peer;
  bool in = true;   // vectors come from the peer
  bool out = true;  // vectors go to the peer
};

struct Link {
  WantedEdge wanted;
  std::string name;              // of the peer
  Endpoint control, bulk;        // of the peer
  std::uint64_t epoch = 0;       // mine for this edge
  std::uint64_t peer_epoch = 0;  // 0: not heard
  std::uint64_t peer_incarnation = 0;
  std::uint64_t peer_view = 0;  // see Hello
  bool active = false;
  std::string refusal;  // why its model does not fit; empty: it does
  Time next_hello{};
  Duration pause{};
  std::optional<double> rtt_s;  // of hellos, of late
  PeerClock clock;

  // Another one whenever the edge begins anew; of this node's making.
  std::uint64_t edge_id() const;
};

class Links {
 public:
  explicit Links(const Options& options);

  // The model to agree on, and what it is in words. Nothing is said to anybody before.
  void open(std::uint64_t schema, const std::string& layout = {});
  // Opens and closes edges so that they are the wanted ones.
  void want(Time now, const std::vector<WantedEdge>& edges, const Roster& members, Outbox& out);
  // Says to all neighbours of which members this node's topology is now.
  void tell_view(Time now, std::uint64_t view, Outbox& out);
  // Every edge is open, or refused, and the topologies at its ends are of the same members.
  bool are_agreed() const;
  // Every edge is open or refused.
  bool are_open() const;
  void receive(Time now, const Envelope& from, const Hello& hello, const Roster& members,
               Outbox& out);
  void receive(const Envelope& from, const Bye& bye, Outbox& out);
  void receive(const Envelope& from, const Terms& terms);
  // Closes the edge and opens it anew.
  void restart(Time now, NodeId peer, const std::string& reason, Outbox& out);
  void tick(Time now, Outbox& out);
  Time deadline() const;
  void close_all(Outbox& out);

  // By peer. Changes only in want() and receive().
  const std::map<NodeId, Link>& all() const { return links_; }
  const Link* active(NodeId peer) const;
  // The lives of the active edges, for optim::Job::edges.
  std::vector<std::uint64_t> edge_ids() const;
  // "no edge to …: …", one for each neighbour that does not fit.
  std::vector<std::string> refusals() const;
  // Grows whenever a link may have changed.
  std::uint64_t version() const { return version_; }

 private:
  void begin_anew(Link& link);
  void refuse(Link& link, Outbox& out);
  void say_hello(Time now, Link& link, std::uint64_t echo, Outbox& out);

  Options options_;
  std::uint64_t schema_ = 0;
  std::vector<Term> model_;  // in words
  std::uint64_t view_ = 0;
  // Two lives of a node share no epoch: what was sent over an edge of the first must not reach an
  // edge of the second.
  std::uint64_t last_epoch_;
  std::uint64_t version_ = 1;
  std::map<NodeId, Link> links_;
};

}  // namespace starling::gossip
