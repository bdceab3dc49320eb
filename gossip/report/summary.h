// Summary: what a whole run came to. `starling up` and `starling simulate` end with one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gossip/options.h"
#include "gossip/report/series.h"

namespace starling::gossip {

struct NodeSummary {
  std::string name = {};
  std::uint64_t round = 0;
  std::optional<double> loss = {}, accuracy = {}, rmse = {};
  std::optional<double> distance = {};             // ||x_i - mean|| / ||mean||
  std::optional<double> distance_to_optimum = {};  // ||x_i - x*||
  std::uint64_t sent_bytes = 0;                    // of parameters
};

// What all nodes say of themselves at one time.
struct TraceRecord {
  double time_s = 0;
  std::vector<NodeSummary> nodes = {};
};

// As one node sees them at the end.
struct MembersSummary {
  std::uint64_t alive = 0, suspect = 0, dead = 0, left = 0;
};

struct GoalSummary {
  bool reached = false;     // by all nodes
  std::string reason = {};  // why the run ended
  std::uint64_t round = 0;  // the highest
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
  // Of a simulation.
  std::optional<std::uint64_t> seed = {}, event_hash = {}, events = {};
  std::vector<TraceRecord> trace = {};  // where one is wanted
  std::vector<Breach> violations = {};  // none is as it should be
};

}  // namespace starling::gossip
