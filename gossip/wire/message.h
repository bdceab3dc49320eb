// Messages: everything nodes say to each other. Control messages are small; a message of the bulk
// plane may carry a payload.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/endpoint.h"
#include "base/ids.h"
#include "base/payload.h"
#include "base/settings.h"
#include "gossip/wire/link_meter.h"

namespace starling::gossip {

enum class Plane : std::uint8_t { control, bulk };

// What every struct of a message says of itself.
struct MessageKind {
  std::uint64_t number;   // on the wire; never used again for another kind
  std::string_view name;  // for people
  Plane plane;
};

enum class Phase : std::uint8_t { joining, training, finished, left };

// What a node says about itself; others pass it on unchanged.
struct Member {
  NodeId id;
  std::string name;
  Endpoint control, bulk, http;
  std::uint64_t incarnation = 0;  // grows with every start of the node
  std::uint64_t version = 0;      // grows within one life, with every change of phase and with
                                  // every suspicion the node refutes
  Phase phase = Phase::joining;
  std::uint64_t round = 0;
  double loss = 0;
  std::uint64_t agreement = 0;  // hash of the values on which nodes must agree (see terms.h)
};

enum class Liveness : std::uint8_t { alive, suspect, dead, left };

// What somebody says of a member. Merging it twice, late or out of order does no harm.
struct Rumor {
  Member member;
  Liveness liveness = Liveness::alive;
  NodeId accuser = {};  // who suspects it, or found it dead
};

// ---- control plane
// "Here I am": asks for the member table in return.
struct Join {
  static constexpr MessageKind kKind{0, "join", Plane::control};
  Member self;
};
struct Gossip {
  static constexpr MessageKind kKind{1, "gossip", Plane::control};
  std::vector<Rumor> rumors = {};
};
// All that the sender knows of the members; `asks` for the same in return.
struct Table {
  static constexpr MessageKind kKind{8, "table", Plane::control};
  bool asks = false;
  std::vector<Rumor> rumors = {};
};
// The failure detector: "are you there?", "yes", "ask that one for me", "I asked and hear nothing".
struct Probe {
  static constexpr MessageKind kKind{9, "probe", Plane::control};
  enum class Kind : std::uint8_t { ping, ack, request, nack };
  Kind kind = Kind::ping;
  std::uint64_t number = 0;  // of the prober; an answer repeats it
  NodeId subject = {};       // who is to answer
  Endpoint subject_control;  // of a request; otherwise that of the sender
  std::vector<Rumor> rumors = {};
};
// "I want this edge": `epoch` is mine for it, `echo` yours as I know it; 0 asks for an answer. The
// edge is active at the end that sees its own epoch echoed.
struct Hello {
  static constexpr MessageKind kKind{2, "hello", Plane::control};
  std::uint64_t epoch = 0;
  std::uint64_t echo = 0;
  std::uint64_t schema = 0;  // of the model, its precision and the codec
  std::uint64_t view = 0;    // hash of the members that the sender's topology is of
  PeerClock::Stamps stamps = {};
};
// The edge, as the sender numbered it, is no more.
struct Bye {
  static constexpr MessageKind kKind{3, "bye", Plane::control};
  std::string reason;
  std::uint64_t epoch = 0;
};
// Surveys of founders that the receiver seems to lack, and whose surveys the sender holds.
struct Surveys {
  static constexpr MessageKind kKind{4, "survey", Plane::control};
  std::vector<NodeId> held;
  std::vector<std::pair<NodeId, std::string>> surveys;
};
struct SnapshotRequest {
  static constexpr MessageKind kKind{5, "snapshot request", Plane::control};
  Member self;  // the donor may not have heard of the newcomer yet
};
// "You asked the wrong place": the answer to a Join of another cluster, or to one that came to the
// bulk port. It passes between clusters.
struct Misdirected {
  static constexpr MessageKind kKind{10, "misdirected", Plane::control};
  enum class Why : std::uint8_t { cluster, bulk_port };
  Why why = Why::cluster;
  bool asks = false;    // for the receiver's own cluster in return
  Endpoint control;     // of the sender
  Endpoint bulk;        // the same
  std::string cluster;  // its cluster.id
};
// The agreed keys of the sender, said to a member whose agreement differs; or its model in words,
// said to a neighbour whose hello has another schema.
struct Terms {
  static constexpr MessageKind kKind{11, "terms", Plane::control};
  bool asks = false;  // for the same in return
  std::vector<Term> terms = {};
};

// ---- bulk plane
// A donor's state after `round`, by which a newcomer starts. The payload is a snapshot of the
// trainer (optim/snapshot.h).
struct Snapshot {
  static constexpr MessageKind kKind{6, "snapshot", Plane::bulk};
  std::uint64_t round = 0;
  std::string foundation;  // a survey to found on; empty where none is needed
};
// One round on one edge. The payload is the offered vector; none on an edge of a directed graph
// that only brings vectors to the sender. `flow` and `estimate` belong to the running estimate of
// the network's mean (see aggregate.h); empty when there is none.
// Where each pair of vectors is mixed exactly once (edge_ledger.h), `echo` is set, and the message
// says beside what the sender has; without a payload it sits the round out, or, where `round` is 0,
// says nothing else.
// Each end numbers all messages of this kind that it sends on an edge, and says up to which number
// it has seen those of the other end. A connection keeps the order, so a vector is lost when
// something that was sent behind it has been seen and the vector has not come.
struct Round {
  static constexpr MessageKind kKind{7, "vector", Plane::bulk};
  std::uint64_t epoch = 0;  // the sender's, of this edge
  std::uint64_t echo = 0;   // the receiver's; 0: vectors are not numbered
  std::uint64_t round = 0;
  // Of the pair's difference, the part that the sender allows, above 0, at most 1/2: the weight at
  // both ends is the smaller of their two shares.
  double share = 0;
  std::uint64_t index = 0;  // of the vector on this edge, from 1; 0: none
  double span = 0;          // sum of the learning rates of the sender's steps since the one before
  std::uint64_t received = 0;  // all vectors of the receiver up to this one have come
  std::uint64_t beyond = 0;    // bit k: so has number received + 1 + k
  std::uint64_t partial = 0;   // so many bytes of number received + 1 have come
  std::uint64_t offered = 0;   // the number of the sender's last vector
  bool closes = false;         // nothing is offered after it
  std::uint64_t order = 0;     // number of this message, from 1
  std::uint64_t seen = 0;      // the highest order of the receiver's messages that have come
  bool asks = false;           // for a message in return, to know what has come
  std::uint64_t sent = 0;      // when, by the sender's clock; see link_meter.h
  double rate = 0;             // bytes per second at which vectors of the receiver come; 0: unknown
  std::vector<float> flow = {}, estimate = {};
};

using Body = std::variant<Join, Gossip, Hello, Bye, Surveys, SnapshotRequest, Snapshot, Round,
                          Table, Probe, Misdirected, Terms>;

inline const MessageKind& kind_of(const Body& body) {
  return std::visit([](const auto& x) -> const MessageKind& { return x.kKind; }, body);
}

struct Envelope {
  std::uint64_t cluster = 0;  // hash of cluster.id
  NodeId sender;
  std::uint64_t incarnation = 0;  // of the sender
  std::uint64_t sequence = 0;     // of the sender, never repeated within an incarnation
};

struct Message {
  Envelope envelope;
  Body body;
  Payload payload;
};

}  // namespace starling::gossip
