// Links: the edges of this node. The wanted edges are a pure function of the members and the
// topology. An edge is active once both ends have sent a hello and each has received the other's.
// Until then no vector is averaged over the edge, and no round waits for it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "gossip/checkpoint.h"
#include "gossip/edges/places.h"
#include "gossip/edges/renewal_count.h"
#include "gossip/members/roster.h"
#include "gossip/options.h"
#include "gossip/outbox.h"
#include "topology/graph.h"

namespace starling::gossip {

// An edge that the topology wants. In a directed graph vectors may go one way only.
struct WantedEdge {
  NodeId peer;
  bool in = true;   // from the peer to this node
  bool out = true;  // from this node to the peer
};

struct Link {
  WantedEdge wanted;
  bool is_paired = true;          // vectors are numbered and averaged in pairs; see Sessions
  std::string name;               // of the peer
  std::uint64_t incarnation = 0;  // of the peer's record when this end began to say hello
  std::uint64_t epoch = 0;        // this end's number of this opening of the edge
  std::uint64_t peer_epoch = 0;   // the peer's number of it; 0: unknown
  std::uint64_t peer_incarnation = 0;
  std::uint64_t peer_view = 0;  // Hello::view of the peer's last hello
  bool active = false;
  std::string refusal;  // why the wanted edge is refused; empty: it is not
  Time barred_until{};  // until then the edge stays closed and hellos are ignored
  Time next_hello{};
  Duration pause{};
  int unanswered = 0;           // hellos since the edge was wanted or closed
  std::optional<double> rtt_s;  // the shortest recent round trip of hellos
  PeerClock clock;
  // This node's memory of the edge from an earlier run, if this is the first opening since then;
  // claim 0: none. And whether both ends continue from it.
  KeptEdge memory = {};
  bool is_resumed = false;

  // Whether the edge is opening, and not for so long already that it may never open.
  bool is_new() const;
  // The name at this node of what the ends know of each other's vectors; the peer's edge id
  // differs. Each opening has an id of its own, but for one that continues from an earlier run
  // (is_resumed), which has the id of the opening before.
  std::uint64_t edge_id() const;
  // Whether the message is of this opening, and numbers its vector exactly if the edge is paired.
  bool carries(const Envelope& from, const Round& message) const {
    return peer_epoch == message.epoch && peer_incarnation == from.incarnation &&
           (message.echo != 0) == is_paired;
  }
  // The memory of this opening for the next run of `self`, this node. `averaged`: a hash, equal at
  // both ends, of the pairs averaged since it opened.
  KeptEdge kept(NodeId self, std::uint64_t averaged) const;
};

class Links {
 public:
  // `memory`: of this node's edges, from an earlier run. An edge continues from it if the peer
  // claims to have averaged the same pairs.
  // `options` outlive this.
  explicit Links(const Options& options, const std::vector<KeptEdge>& memory = {});

  // Sets the hash of the model, and the model in words. No hello is sent before, and none after
  // shut() until another call.
  void open(Time now, std::uint64_t schema, const std::string& layout = {});
  // Closes all edges: what they carried means nothing from here on.
  void shut(Outbox& out);
  // Whether to shut them since an edge of some node has closed (RenewalCount).
  bool must_shut() const { return options_.needs.sums && renewals_.is_behind(); }
  // Drops the memory of edges from an earlier run; that of active edges only with `all`.
  void forget(Time now, bool all);
  // Opens and closes edges so that exactly the wanted ones remain.
  void want(Time now, const std::vector<WantedEdge>& edges, const Roster& members, Outbox& out);
  void take(Places places) { places_ = std::move(places); }
  const Places& places() const { return places_; }
  // Sends all neighbours the hash of the members from which this node's topology is computed.
  void tell_view(Time now, std::uint64_t view, Outbox& out);
  // Whether every edge is refused, or open between topologies computed from the same members.
  bool are_agreed() const;
  // Whether every edge is open or refused.
  bool are_open() const;
  void receive(Time now, const Envelope& from, const Hello& hello, const Roster& members,
               Outbox& out);
  void receive(const Envelope& from, const Bye& bye, Outbox& out);
  void receive(const Envelope& from, const Terms& terms);
  // Closes the edge and opens it again after the pause, with another edge id.
  void restart(Time now, NodeId peer, const std::string& reason, Duration pause, Outbox& out);
  void tick(Time now, Outbox& out);
  Time deadline() const;
  void close_all(Outbox& out);

  // The edges by peer.
  const std::map<NodeId, Link>& all() const { return links_; }
  const Link* active(NodeId peer) const;
  // "no edge to …: …", for each neighbour whose model does not fit, or whose edge is barred.
  std::vector<std::string> refusals() const;
  // Grows whenever a link may have changed; times of hellos do not count.
  std::uint64_t version() const { return version_; }

 private:
  void activate(Time now, Link& link, std::uint64_t claim, Outbox& out);
  void begin_anew(Link& link);
  bool turn_away(Time now, Link& link, const Hello& hello, Outbox& out);
  void want_one(Time now, const WantedEdge& edge, const Member& member);
  void say_hello(Time now, Link& link, std::uint64_t echo, Outbox& out);

  const Options& options_;
  std::uint64_t schema_ = 0;  // of what edges carry: of the model and form_of()
  std::vector<Term> model_;   // the model in words
  std::uint64_t view_ = 0;
  // Two incarnations of a node share no epoch: a message over an edge of the first must not count
  // for one of the second.
  std::uint64_t last_epoch_;
  std::uint64_t version_ = 1;
  RenewalCount renewals_;
  bool is_shut_ = false;
  std::map<NodeId, KeptEdge> memory_;  // by peer, for edges not wanted yet
  std::map<NodeId, Link> links_;
  Places places_;
};

}  // namespace starling::gossip
