// Messages: everything nodes say to each other. Control messages are small; a message of the bulk
// plane may carry a payload.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/endpoint.h"
#include "base/ids.h"
#include "base/payload.h"

namespace starling::gossip {

enum class Plane : std::uint8_t { control, bulk };

enum class Phase : std::uint8_t { joining, training, finished, left };

// What a node says about itself; others pass it on unchanged.
struct Member {
  NodeId id;
  std::string name;
  Endpoint control, bulk, http;
  std::uint64_t incarnation = 0;  // grows with every start of the node
  std::uint64_t heartbeat = 0;    // grows while it lives; the larger record is the newer
  Phase phase = Phase::joining;
  std::uint64_t round = 0;
  double loss = 0;
};

// ---- control plane
// "Here I am": asks for the member table in return.
struct Join {
  Member self;
};
// Some of the member table. Merging it twice, late or out of order does no harm.
struct Gossip {
  std::vector<Member> members;
};
// "I want this edge": `epoch` is mine for it, `echo` yours as I know it; 0 asks for an answer. The
// edge is active at the end that sees its own epoch echoed.
struct Hello {
  std::uint64_t epoch = 0;
  std::uint64_t echo = 0;
  std::uint64_t schema = 0;  // of model, precision and algorithm
  std::string algorithm;     // for the reason that is shown when schemas differ
};
struct Bye {
  std::string reason;
};
// The surveys of founders that the sender knows.
struct Surveys {
  std::vector<std::pair<NodeId, std::string>> surveys;
};
struct SnapshotRequest {};

// ---- bulk plane
// A donor's model, by which a newcomer starts. The payload is the vector last offered.
struct Snapshot {
  std::uint64_t round = 0;
  std::vector<std::string> foundation;
};
// One round on one edge. The payload is the offered vector; none on an edge of a directed graph
// that only brings vectors to the sender. `flow` and `estimate` belong to the running estimate of
// the network's mean (see aggregate.h); empty when there is none.
struct Round {
  std::uint64_t epoch = 0;  // the sender's, of this edge
  std::uint64_t round = 0;
  std::uint32_t degree = 0;  // the sender's in-degree in this round, for the weight at both ends
  std::vector<float> flow, estimate;
};

using Body = std::variant<Join, Gossip, Hello, Bye, Surveys, SnapshotRequest, Snapshot, Round>;

inline Plane plane_of(const Body& body) {
  const bool bulk = std::holds_alternative<Snapshot>(body) || std::holds_alternative<Round>(body);
  return bulk ? Plane::bulk : Plane::control;
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
