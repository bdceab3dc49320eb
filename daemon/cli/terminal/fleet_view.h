// FleetView: a training fleet as shown to people, and the FleetRates, which computes its rates and
// curves. Plain values; nothing here asks a node or a clock.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace starling::daemon {

struct NodeView {
  std::string name = {};
  std::string state = {};  // from the node or from others; "silent", "ended"
  std::uint64_t round = 0;
  std::optional<double> loss = {}, accuracy = {}, rmse = {};
  std::optional<double> distance = {};  // ||x_i - mean|| / ||mean||
  std::vector<double> losses = {};      // the oldest first
};

// Whether the node is gone, so that its rounds do not count.
bool is_gone(const NodeView& node);

struct FleetView {
  std::string summary = {};         // one sentence; reasons, if any, begin it
  bool has_reasons = false;         // the sentence begins with a problem
  std::string progress = {};        // "round 120 of 2000"
  std::optional<double> done = {};  // share of the goal, 0 to 1; nothing without a goal
  std::optional<double> rounds_per_s = {}, samples_per_s = {}, remaining_s = {};
  std::vector<NodeView> nodes = {};
};

// The history of each node: a curve of its loss, and the rates of rounds and samples.
class FleetRates {
 public:
  // Adds the nodes at `time_s`, and fills in their curves. `samples`: of all nodes together;
  // nothing: unknown. REQUIRES times that do not decrease.
  void add(double time_s, std::vector<NodeView>& nodes, std::optional<double> samples);
  // Over the last kWindow_s; nothing before two values.
  std::optional<double> rounds_per_s() const;
  std::optional<double> samples_per_s() const;

  // Longer: steadier rates that follow a change later.
  static constexpr double kWindow_s = 10;
  // Of a node's curve; from there on every second one is forgotten. More: finer curves, more
  // memory.
  static constexpr std::size_t kLossesLimit = 128;

 private:
  struct Curve {
    std::vector<double> losses;
    std::uint64_t every = 1, skipped = 0;  // one of so many changes is kept
    std::uint64_t round = 0;
    std::optional<double> last;
  };
  struct Sample {
    double time_s = 0;
    std::map<std::string, std::uint64_t> rounds = {};  // of nodes that are there
    std::optional<double> samples = {};
  };

  static void extend(Curve& curve, const NodeView& node);

  std::map<std::string, Curve> curves_;
  std::deque<Sample> recent_;
};

// Fills `progress`, `done` and `remaining_s` from the part `run` of a node's status.
void read_progress(const nlohmann::json& run, FleetView& view);

}  // namespace starling::daemon
