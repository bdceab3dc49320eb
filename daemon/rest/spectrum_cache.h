// SpectrumCache: the second eigenvalue modulus of the last graph, and the expected factor of a
// round on disagreement. Computing it costs O(n^3), while the status is asked for all the time and
// the graph changes rarely.
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

  // The neighbours that a round averages with.
  enum class Partners { all, one_drawn, one_free };
  struct Rounds {
    Partners partners = Partners::all;
    double share = 1;  // optim::Needs::mixing_share
  };
  SpectrumCache() = default;
  explicit SpectrumCache(const Rounds& rounds) : rounds_(rounds) {}

  // Nothing without a graph and above the limit.
  std::optional<double> second_modulus(const std::shared_ptr<const topology::Graph>& graph);
  // The same, and nothing if nodes choose their partners freely or take no averages.
  std::optional<double> mixing_rate(const std::shared_ptr<const topology::Graph>& graph);

 private:
  bool knows(const std::shared_ptr<const topology::Graph>& graph);

  Rounds rounds_;
  std::shared_ptr<const topology::Graph> graph_;  // kept, so that its address stays its own
  double modulus_ = 0, rate_ = 0;
};

}  // namespace starling::daemon
