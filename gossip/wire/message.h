// Messages: everything that nodes send each other. Control messages are small; a message of the
// bulk plane may carry a payload. To add a message, or a field of one: see docs/protocol.md. To add
// an attribute of a vector: VectorTerms here, gossip/wire/fields.h, Offering
// (gossip/edges/offering.h), EdgeLedger::Pair, Exchange::take_pairs() and take_newest(), MixTerm
// (optim/edge_vectors.h), and who uses it in optim/combine/. A place that is forgotten leaves it at
// 0.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/endpoint.h"
#include "base/ids.h"
#include "base/payload.h"
#include "base/settings.h"
#include "gossip/wire/link_meter.h"
#include "gossip/wire/record.h"
#include "gossip/wire/setting_change.h"

namespace starling::gossip {

enum class Plane : std::uint8_t { control, bulk };

// Of which incarnations of the sender a message is admitted, beside the known one, and so announces
// the sender. later: of a later incarnation. always: of an earlier one too, since the answer tells
// the sender which incarnation to exceed: the sender started with an older clock, or somebody
// claimed a false incarnation in its name. Other messages of an earlier incarnation are late
// copies.
enum class Introduces : std::uint8_t { never, later, always };

// The properties of one kind of message.
struct MessageKind {
  std::uint64_t number;   // on the wire; never used again for another kind
  std::string_view name;  // for people
  Plane plane;
  bool invites_vectors = false;  // the answer comes on the bulk plane
  Introduces introduces = Introduces::later;
};

enum class Liveness : std::uint8_t { alive, suspect, dead, left };

// A claim about a member. Merging a rumor twice, late or out of order does no harm.
struct Rumor {
  Record member;
  Liveness liveness = Liveness::alive;
  NodeId accuser = {};  // the node that suspects the member or found it dead
  // With keys: the accuser's, of the accusation; see trust/notary.h.
  std::string signature = {};

  bool accuses() const { return liveness == Liveness::suspect || liveness == Liveness::dead; }
};

// ---- control plane
// Announces the sender and asks for the member table in return.
struct Join {
  static constexpr MessageKind kKind{0, "join", Plane::control, false, Introduces::always};
  Member self;
};
struct Gossip {
  static constexpr MessageKind kKind{1, "gossip", Plane::control};
  std::vector<Rumor> rumors = {};
};
// Everything that the sender knows of the members. `asks`: the sender wants the receiver's table in
// return.
struct Table {
  static constexpr MessageKind kKind{8, "table", Plane::control};
  bool asks = false;
  std::vector<Rumor> rumors = {};
  std::uint64_t revocations = 0;  // number of the list that the sender knows
};
// What the sender knows of the members, one mark for each (members/marks.h); the receiver sends
// what the sender lacks, in a Table of these members alone. With `wants`: the marks of what the
// sender lacks.
struct Digest {
  static constexpr MessageKind kKind{15, "digest", Plane::control};
  bool wants = false;
  std::vector<std::uint64_t> marks = {};
};
// The smallest and largest values of the quantities over all members that have contributed to them
// in this epoch; see Extremes. Empty lists: none yet.
struct Ranges {
  std::uint64_t epoch = 0;
  std::vector<float> least = {}, most = {};
};
// The failure detector: a ping, its ack, a request to ping the subject on the sender's behalf, and
// a nack when the subject did not answer the helper.
struct Probe {
  static constexpr MessageKind kKind{9, "probe", Plane::control, false, Introduces::always};
  enum class Kind : std::uint8_t { ping, ack, request, nack };
  Kind kind = Kind::ping;
  std::uint64_t number = 0;  // chosen by the prober; the answer repeats it
  NodeId subject = {};       // the member that is to answer
  std::vector<Rumor> rumors = {};
  Ranges ranges = {};  // in a ping and its ack
};
// The sender wants this edge. `epoch` is the sender's number of this opening of the edge; `echo` is
// the receiver's number as the sender knows it, and 0 asks for an answer. The edge is active at the
// end that sees its own epoch echoed. `claim` identifies the sender's memory of the edge from an
// earlier life (KeptEdge); it never changes within an opening; 0: nothing.
struct Hello {
  static constexpr MessageKind kKind{2, "hello", Plane::control, true};
  std::uint64_t epoch = 0;
  std::uint64_t echo = 0;
  std::uint64_t schema = 0;  // hash of the model, its precision and the codec
  std::uint64_t view = 0;    // hash of the members from which the sender's topology is computed
  std::uint64_t claim = 0;
  std::uint64_t renewals = 0;  // of the sender's edges, because one closed; see Links::must_shut()
  PeerClock::Stamps stamps = {};
};
// The sender has closed the edge that it numbered `epoch`.
struct Bye {
  static constexpr MessageKind kKind{3, "bye", Plane::control};
  std::string reason;
  std::uint64_t epoch = 0;
};
// The statistics of a founder's data.
struct Survey {
  NodeId founder = {};
  std::uint64_t incarnation = 0;  // of the founder
  std::string statistics = {};    // as its trainer wrote them
  std::string signature = {};     // with keys: the founder's; see trust/notary.h
};
// `surveys`: surveys of founders that the receiver seems to lack. `held`: the founders whose
// surveys the sender holds.
struct Surveys {
  static constexpr MessageKind kKind{4, "survey", Plane::control};
  std::vector<NodeId> held;
  std::vector<Survey> surveys;
};
struct SnapshotRequest {
  static constexpr MessageKind kKind{5, "snapshot request", Plane::control, true};
  Member self;  // the donor may not know the newcomer yet
};
// The answer to a Join of another cluster. The only message that is exchanged between clusters.
struct Misdirected {
  static constexpr MessageKind kKind{10, "misdirected", Plane::control};
  bool asks = false;    // the sender wants the receiver's cluster.id in return
  Endpoint control;     // of the sender
  std::string cluster;  // of the sender, cluster.id
};
// The agreed keys of the sender, for a member whose agreement differs; or the sender's model in
// words, for a neighbour whose hello has another schema.
struct Terms {
  static constexpr MessageKind kKind{11, "terms", Plane::control};
  bool asks = false;  // the sender wants the receiver's in return
  std::vector<Term> terms = {};
};

// All changes of settings that the sender knows, for a member that knows others.
struct SettingChanges {
  static constexpr MessageKind kKind{17, "settings", Plane::control};
  bool asks = false;  // the sender wants the receiver's in return
  std::vector<SettingChange> changes = {};
};

// Whether others can dial the sender. request: dial me there; call: over the connection that was
// dialled for it; answer: what came of it.
struct DialBack {
  static constexpr MessageKind kKind{14, "dial back", Plane::control};
  enum class Kind : std::uint8_t { request, call, answer };
  Kind kind = Kind::request;
  std::uint64_t number = 0;  // chosen by the asker; the others repeat it
  Endpoint control = {};     // of the asker
  bool is_closed = false;    // in an answer: nobody could be dialled there
};

// The list of revocations, encoded (trust/revocations.h), for a member that may not know it.
struct Revoked {
  static constexpr MessageKind kKind{13, "revocations", Plane::control};
  std::string list;
};

// The running estimate of the network's means, as in a Round, over an edge that carried no vector
// for a while; see FleetMeans.
struct Estimate {
  static constexpr MessageKind kKind{12, "estimate", Plane::control};
  std::uint64_t round = 0;  // of the sender's model; 0: the sender does not train
  std::vector<float> flow = {}, estimate = {};
};

// ---- bulk plane
// A donor's state after `round`, from which a newcomer starts. The payload is a snapshot of the
// trainer (optim/saved_state.h).
struct Snapshot {
  static constexpr MessageKind kKind{6, "snapshot", Plane::bulk};
  std::uint64_t round = 0;
  std::string foundation;  // a survey to found on; empty when none is needed
};

// The probe 1 on the wire: at most five bytes.
inline constexpr std::uint64_t kProbeOne = std::uint64_t{1} << 31;
// Of the damping of a vector.
inline constexpr std::uint64_t kDampingOne = std::uint64_t{1} << 31;
// What an end says of a vector that it sends, beside its numbers.
struct VectorTerms {
  std::uint64_t round = 0;
  // The part of the pair's difference that the sender allows, above 0, below 1; above 1/2 only over
  // a sequence of graphs. The weight at both ends is the smaller of their two shares.
  double share = 0;
  // Sum of the learning rates of the sender's steps since its previous vector on that edge, or
  // more; see Scheduler::span() and optim::MixTerm.
  double span = 0;
  std::uint64_t probe = 0;  // in parts of kProbeOne; see MixingMeter
  // With a codec that loses something, by how much the sender shortens the pair's step, in parts of
  // kDampingOne: theta = 1 - damping / kDampingOne, and the smaller theta of the two ends counts.
  std::uint64_t damping = 0;
  // How far the vector may lie from the receiver's and count in full; the lesser of the two ends'
  // counts (optim/combine/reach.h). 0: it tells none.
  std::uint64_t reach = 0;  // the bits of an f32; see amount_of()

  VectorTerms& terms() { return *this; }
  const VectorTerms& terms() const { return *this; }
};

// One round on one edge. The payload is the sender's vector. It is empty on an edge of a directed
// graph that only carries vectors to the sender. `flow` and `estimate` belong to the running
// estimate of the network's mean (see aggregate.h); both are empty when there is none. Where each
// pair of vectors is mixed exactly once (edge_ledger.h), `echo` is set and the message acknowledges
// the receiver's vectors. Without a payload the sender skips the round; if `round` is 0 too, the
// message only acknowledges or asks. Each end numbers all messages of this kind that it sends on an
// edge (`order`), and reports the highest number seen from the peer (`seen`). A connection keeps
// the order, so a vector is lost when the peer has seen a message that was sent after it but not
// the vector.
struct Round : VectorTerms {
  static constexpr MessageKind kKind{7, "vector", Plane::bulk, false, Introduces::never};
  std::uint64_t epoch = 0;     // the sender's number of this opening of the edge
  std::uint64_t echo = 0;      // the receiver's number of it; 0: vectors are not numbered
  std::uint64_t number = 0;    // of the vector on this edge, from 1; 0: none
  std::uint64_t received = 0;  // all vectors of the receiver up to this number have come; without
                               // numbers, the round of its newest vector that has come
  std::uint64_t beyond = 0;    // bit k: number received + 1 + k has come too
  std::uint64_t partial = 0;   // bytes that have come of number received + 1
  std::uint64_t offered = 0;   // the number of the sender's last vector
  bool closes = false;         // the sender offers no vector after `offered`
  std::uint64_t order = 0;     // number of this message on the edge, from 1
  std::uint64_t seen = 0;      // the highest `order` of the receiver's messages that has come
  bool asks = false;           // the sender wants an acknowledgement
  std::uint64_t sent = 0;      // time of sending, by the sender's clock; see link_meter.h
  std::uint64_t rate = 0;  // bytes per second at which the receiver's vectors arrive; 0: unknown
  std::vector<float> flow = {}, estimate = {};
};

// All models become one at the end of a run, by a sum along a tree of edges; see
// node/settlement.h. `epoch` and `root` name the sum: the later epoch counts, and of one epoch the
// root of the higher rank.
struct Tally {
  static constexpr MessageKind kKind{16, "tally", Plane::bulk};
  enum class Kind : std::uint8_t {
    call,       // the sender takes part in that sum, and wants what the receiver adds, or the model
    busy,       // the sender's part comes later
    elsewhere,  // the sender's part goes to another node
    part,       // the payload is the mean of so many models, to be added by the receiver
    model,      // the payload is the model with which the run ends
  };
  Kind kind = Kind::call;
  std::uint64_t epoch = 0;  // 0: none, the sender wants the model
  NodeId root = {};
  // Whose mean the payload is; of a call to the node that is to add it, the sender's part.
  std::uint64_t models = 0;
  std::uint64_t round = 0;  // of the models that are summed, with stop.keep = best; 0: the last
};

using Body =
    std::variant<Join, Gossip, Hello, Bye, Surveys, SnapshotRequest, Snapshot, Round, Table, Probe,
                 Misdirected, Terms, Estimate, Revoked, DialBack, Digest, Tally, SettingChanges>;

// The messages of the membership protocol; Membership receives them.
using MembershipBody = std::variant<Join, Gossip, Table, Digest, Probe, DialBack, Revoked>;
template <class B, class Variant>
inline constexpr bool is_alternative_of = false;
template <class B, class... All>
inline constexpr bool is_alternative_of<B, std::variant<All...>> = (std::is_same_v<B, All> || ...);
template <class B>
concept OfMembers = is_alternative_of<B, MembershipBody>;

// The sender's record that a message carries as `self`; null: its kind carries none.
inline Member* member_in(Body& body) {
  return std::visit(
      [](auto& x) -> Member* {
        if constexpr (requires { x.self; }) return &x.self;
        return nullptr;
      },
      body);
}

// The rumors that a message carries; null: its kind carries none.
inline std::vector<Rumor>* rumors_in(Body& body) {
  return std::visit(
      [](auto& x) -> std::vector<Rumor>* {
        if constexpr (requires { x.rumors; }) return &x.rumors;
        return nullptr;
      },
      body);
}

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
