// SpectrumCache: the second eigenvalue modulus of the graph last asked about. Computing it costs
// O(n^3), while the status is asked for all the time and the graph changes rarely.
#pragma once

#include <memory>
#include <optional>

#include "topology/graph.h"

namespace starling::daemon {

// One thread at a time.
class SpectrumCache {
 public:
  // Above this a status would take too long to answer: about a second when directed.
  static constexpr int kVerticesLimit = 512;

  // Nothing without a graph and above the limit.
  std::optional<double> second_modulus(const std::shared_ptr<const topology::Graph>& graph);

 private:
  std::shared_ptr<const topology::Graph> graph_;  // kept, so that its address stays its own
  double modulus_ = 0;
};

}  // namespace starling::daemon
