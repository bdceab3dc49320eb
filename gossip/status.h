// Status: what a node reports about itself. A plain value; drivers copy it and turn it into JSON.
// To add a status field: a member here, who fills it, its line in daemon/rest/status_json.cpp, its
// property in daemon/rest/page/openapi.json, with `x-metric` if it is a metric.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "gossip/checkpoint.h"
#include "gossip/fleet.h"
#include "gossip/wire/message.h"
#include "optim/workload.h"
#include "topology/build.h"
#include "topology/graph.h"

namespace starling::gossip {

enum class State {
  starting,
  joining,
  training,
  paused,
  degraded,
  leaving,
  ending,
  settling,
  sealing,
  finished
};
std::string_view name(State state);

std::string_view name(Liveness liveness);
std::string_view name(Phase phase);

struct MemberStatus {
  Record member;
  Liveness liveness = Liveness::alive;
  Time last_heard{};
  bool self = false;
  bool agrees = true;  // in all agreed keys, so that an edge to it may open
  Time told{};         // when its record came here, whose numbers are as old or older

  bool is_present() const { return liveness <= Liveness::suspect; }
};
// The number of members in that state; of present members in that phase, by their records.
std::size_t count_in(std::span<const MemberStatus> members, Liveness liveness);
std::size_t count_in(std::span<const MemberStatus> members, Phase phase);
std::size_t count_present(std::span<const MemberStatus> members);

// The member that the rounds of the others wait for; see members/hold_up.h.
struct HoldUp {
  NodeId id;
  std::string name;
  std::uint64_t percent = 0;  // of the time of the node that waits longest
};

enum class EdgeState { opening, active, late, refused };
std::string_view name(EdgeState state);

struct EdgeStatus {
  NodeId id;
  std::string name;
  EdgeState state = EdgeState::opening;
  std::string refusal{};  // if refused: why there is no edge
  double weight = 0;
  std::uint64_t round = 0;      // of the newest vector from the peer
  Time heard{};                 // when the first message of that round came
  std::uint64_t staleness = 0;  // rounds that the peer is behind
  std::optional<double> rtt_s;
  double patience_s = 0;
  double codec_quality = 1;  // of this node's vectors to the peer; see optim/codec/quality.h
  std::string encoding{};    // of these; empty: a setting fixes it
  double send_rate = 0, receive_rate = 0;  // of vectors, recent bytes per second; 0: unknown
  std::uint64_t queued_bytes = 0;          // of vectors that the peer has not acknowledged
  std::uint64_t repeated_bytes = 0;        // of retransmitted vectors
  std::optional<double> distance;          // ||x_j - x_i||
  // Rounds in a row in which the distance was 0, though a loop of the user's own had moved x_i.
  std::uint64_t equal_rounds = 0;
  std::uint64_t sent_bytes = 0, received_bytes = 0;
  std::map<std::string, std::uint64_t> rejected;
};

// The members from which this node's topology is computed. A node computes only its own neighbours;
// graph() builds the whole graph for people.
struct TopologyStatus {
  std::shared_ptr<const topology::Options> options;
  std::shared_ptr<const std::vector<topology::Site>> sites;  // null until it follows the members
  std::optional<std::size_t> degree;  // peers that send to this node; nothing while it has no place
  std::uint64_t epoch = 0;            // grows with every change of the sites

  std::vector<std::string> names() const;
  // Built anew by every call, in up to O(n^2). Null without sites.
  std::shared_ptr<const topology::Graph> graph() const;
};

// What the codec of the run costs this node, and what it carries.
struct CodecStatus {
  std::size_t vector_bytes = 0;  // of a vector after the first of an edge; 0: not known yet
  std::size_t f32_bytes = 0;     // of its numbers in f32; 0: not known yet
  double quality = 1;            // of the last messages, the mean over the edges
  std::size_t memory_bytes = 0;  // of what is remembered of the edges
  std::string chosen = {};       // the encodings of the last vectors; empty: a setting fixes it
  std::string reason = {};       // why that one; empty: a setting
};

// The reason of an end that no goal brought.
inline constexpr std::string_view kStoppedByHand = "stopped by hand";

// Live keys whose values are not those of the start.
struct SettingsStatus {
  struct Own {
    Term term;
    std::uint64_t since = 0;  // the round before which it was set
  };
  std::vector<Own> own = {};                // of this node alone
  std::vector<SettingChange> changes = {};  // of all nodes, those to come among them
  std::string problem = {};  // why this node does not follow the last of them; empty: it does
};

// How far the run is, and how it ended.
// The model with which a run ended.
struct EndModel {
  std::uint64_t hash = 0;   // of its content; 0: there is none
  std::uint64_t nodes = 0;  // for so many it stands
  std::uint64_t round = 0;  // the mean of their models after that round; 0: of their last ones
};
// "5f3a91…, of 4 nodes, as they were after round 120"
std::string to_text(const EndModel& model);

struct EndStatus {
  std::string progress = {};        // for people: what the fleet has come to of its goals
  std::optional<double> done = {};  // the part of the run that is over, 0 to 1, by its limits
  std::optional<double> remaining_s = {};   // until the first of these, at the pace so far
  std::optional<std::uint64_t> round = {};  // after which all end; nothing: it is not agreed
  std::string reason = {};                  // why; empty: it goes on
  EndModel model = {};
  bool goal_reached = false;
  bool is_left_behind = false;  // most of the others ended and are gone, and nobody has their model
  std::string shortfall = {};   // why the node finished short of the goal; empty: it reached it
};

struct RunStatus {
  std::uint64_t round = 0;      // rounds completed or jumped over
  std::uint64_t uncounted = 0;  // of these, the rounds that no node did
  std::uint64_t steps = 0, samples = 0;
  std::size_t local_steps = 0;     // of the last round; 0: none yet
  std::string local_steps_reason;  // why this number; empty: a setting
  double learning_rate = 0;
  // Of the last local step whose loss is known; NaN: of none. 0 before the first step.
  double loss = 0;
  std::optional<optim::Evaluation> evaluation;
  std::optional<double> distance_to_optimum;
  double norm = 0;  // of the model lately; 0: not known
  CodecStatus codec = {};
  std::size_t shard_samples = 0;
  std::string shard_description;
  optim::Preparation preparation = {};
  std::optional<optim::PrivacySpent> privacy = {};  // by its steps so far; nothing without noise
  EndStatus end = {};
  std::optional<std::string> problem;  // why the last local steps were refused
  bool is_idle = false;                // takes no step, or none for much longer than usual
};

// With which the reason begins of a founder whose data and the others' give no model.
inline constexpr std::string_view kCannotTrain = "cannot train with these nodes: ";

struct Status {
  State state = State::starting;
  bool is_alone = false;                   // it hears no neighbour, and rests until it does
  std::vector<std::string> reasons;        // why the node is not training normally
  std::vector<std::string> warnings;       // those reasons that a user can act on
  std::string algorithm, schedule, codec;  // their names; they may change (settings)
  RunStatus run;
  CheckpointStatus checkpoint;
  SettingsStatus settings;
  std::optional<double> consensus_distance;  // ||x_i - mean|| / ||mean||
  std::optional<double> neighbor_distance;
  // The factor of a recent round of averaging on disagreement; see MixingMeter.
  std::optional<double> mixing_rate;
  FleetStatus fleet;
  // Why this node, which has neighbours, has never averaged with one; empty: it has, or has none.
  std::string alone;
  // Closing edges with a pair that one end may have averaged and the other not.
  std::size_t unsettled_edges = 0;
  // Open edges with such a pair before the last one.
  std::size_t late_edges = 0;
  // Closed edges that were given up with such a pair: its share of the mean may be lost.
  std::uint64_t abandoned_edges = 0;
  std::vector<MemberStatus> members;  // by name, self included
  std::optional<HoldUp> hold_up;
  std::vector<EdgeStatus> edges;  // by name
  TopologyStatus topology;
  std::uint64_t sent_bytes = 0, received_bytes = 0;
  double sent_per_s = 0, sent_most_per_s = 0;  // bytes; see SendMeter
  Duration compute{}, wait{}, mix{};
  Duration evaluation{};  // the part of `compute` that is no local step
  // The rest of the time of training: messages, and threads that wait for a processor.
  Duration other{};
  Duration network_wait{};  // the part of `wait` in which the last vector to come was under way
  std::map<std::string, std::uint64_t> rejected;  // messages refused, by reason
  // Messages refused, by reason and kind of message.
  std::map<std::string, std::map<std::string, std::uint64_t>> rejected_kinds;
};

}  // namespace starling::gossip
