// Status: what a node can say about itself. A plain value; drivers copy it and turn it into JSON.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "gossip/wire/message.h"
#include "optim/job.h"
#include "topology/build.h"
#include "topology/graph.h"

namespace starling::gossip {

enum class State { starting, joining, training, degraded, leaving, finished };
std::string_view name(State state);

std::string_view name(Liveness liveness);

struct MemberStatus {
  Member member;
  Liveness liveness = Liveness::alive;
  Time last_heard{};
  bool self = false;
};

enum class EdgeState { opening, active, late, refused };
std::string_view name(EdgeState state);

struct EdgeStatus {
  NodeId id;
  std::string name;
  EdgeState state = EdgeState::opening;
  std::string refusal{};  // why the peers do not fit, where it is refused
  double weight = 0;
  std::uint64_t round = 0;      // of the newest vector from there
  std::uint64_t staleness = 0;  // rounds it is behind
  std::optional<double> rtt_s;
  double patience_s = 0;
  double send_rate = 0, receive_rate = 0;  // of vectors, bytes per second, of late; 0: unknown
  std::uint64_t queued_bytes = 0;          // of vectors that the other end has not said to have
  std::uint64_t repeated_bytes = 0;        // of vectors that were sent once more
  std::optional<double> distance;          // ||x_j - x_i||
  std::uint64_t sent_bytes = 0, received_bytes = 0;
  std::map<std::string, std::uint64_t> rejected;
};

// Of which members this node's topology is. A node knows its own neighbours alone; whoever wants to
// see the graph has it made.
struct TopologyStatus {
  std::shared_ptr<const topology::Options> options;
  std::shared_ptr<const std::vector<topology::Site>> sites;  // null before the first look
  std::optional<std::size_t> degree;  // how many this node hears; nothing while it has no place
  std::uint64_t epoch = 0;            // grows with every change of the sites

  std::vector<std::string> names() const;
  // Made anew by every call: up to O(n^2). Null without sites.
  std::shared_ptr<const topology::Graph> graph() const;
};

struct RunStatus {
  std::uint64_t round = 0;  // rounds completed, or jumped over by catching up
  std::uint64_t steps = 0, samples = 0;
  double learning_rate = 0, loss = 0;
  std::optional<optim::Evaluation> evaluation;
  std::optional<double> distance_to_optimum;
  std::size_t shard_samples = 0;
  std::string shard_description;
  bool goal_reached = false;
  std::string shortfall;               // why it finished without that; empty: it did not
  std::optional<std::string> trouble;  // why the last local steps were refused
};

struct Status {
  State state = State::starting;
  std::vector<std::string> reasons;   // why it is not simply well, in words
  std::vector<std::string> warnings;  // those of them that a person can mend
  RunStatus run;
  std::optional<double> consensus_distance;  // ||x_i - mean|| / ||mean||
  std::optional<double> neighbor_distance;
  // Closed edges with vectors that one end may have averaged and the other not; and those of which
  // this was given up: their share of the mean may be lost.
  std::size_t unsettled_edges = 0;
  // Open edges with vectors before the last ones of which the same holds.
  std::size_t late_edges = 0;
  std::uint64_t abandoned_edges = 0;
  std::vector<MemberStatus> members;  // by name, self included
  std::vector<EdgeStatus> edges;      // by name
  TopologyStatus topology;
  std::uint64_t sent_bytes = 0, received_bytes = 0;
  Duration compute{}, wait{}, mix{};
  Duration network_wait{};                        // of `wait`, while a vector was under way
  std::map<std::string, std::uint64_t> rejected;  // messages refused, by reason
  // The same by reason and kind of message.
  std::map<std::string, std::map<std::string, std::uint64_t>> rejected_kinds;
};

}  // namespace starling::gossip
