// Summary: the result of a whole run. `starling up` and `starling simulate` print it at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gossip/options.h"
#include "gossip/report/series.h"
#include "gossip/status.h"

namespace starling::gossip {

struct NodeSummary {
  std::string name = {};
  std::uint64_t round = 0;
  std::optional<double> loss = {}, accuracy = {}, rmse = {};
  std::optional<double> distance = {};             // ||x_i - mean|| / ||mean||
  std::optional<double> distance_to_optimum = {};  // ||x_i - x*||
  std::optional<std::uint64_t> sent_bytes = {};    // of parameters
  // Of the model, and of one of this node's own rows alone.
  std::optional<optim::Evaluation> held_out = {}, alone = {};
};

// Over the nodes that have it; nothing if none has.
std::optional<double> mean(std::span<const NodeSummary> nodes,
                           std::optional<double> NodeSummary::*member);

// The state of all nodes at one time.
struct TraceRecord {
  double time_s = 0;
  std::vector<NodeSummary> nodes = {};
};

// The number of members in each state at the end, as one node sees them.
struct MembersSummary {
  std::uint64_t alive = 0, suspect = 0, dead = 0, left = 0;
};

struct GoalSummary {
  bool reached = false;
  std::string reason = {};  // why the run ended
  std::uint64_t round = 0;  // the highest
  EndModel model = {};
  Goal wanted = {};
};

// A law of the simulator that did not hold.
struct Breach {
  std::string law = {};  // its short name
  double time_s = 0;
  std::string node = {};
  std::string text = {};  // what was seen
};

struct Summary {
  std::vector<NodeSummary> nodes = {};
  std::vector<SeriesPoint> series = {};
  GoalSummary goal = {};
  MembersSummary members = {};
  std::optional<double> wall_s = {}, virtual_s = {};
  // Only of a simulation.
  std::optional<std::uint64_t> seed = {}, event_hash = {}, events = {};
  std::vector<TraceRecord> trace = {};  // if requested
  std::vector<Breach> violations = {};  // empty if all laws held
};

}  // namespace starling::gossip
