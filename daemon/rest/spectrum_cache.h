// SpectrumCache: the second eigenvalue modulus of the last graph, and the expected factor of a
// round on disagreement. Computing it costs O(n^3), while the status is asked for all the time and
// the graph changes rarely.
#pragma once

#include <memory>
#include <optional>

#include "topology/graph.h"
#include "topology/sequence.h"

namespace starling::daemon {

// One thread at a time.
class SpectrumCache {
 public:
  // Above this a status would take too long to answer: about a second when directed.
  static constexpr int kVerticesLimit = 512;

  struct Rounds {
    bool are_free = false;  // a node averages with whom it likes
    double share = 1;       // optim::Needs::mixing_share
  };
  SpectrumCache() = default;
  explicit SpectrumCache(const Rounds& rounds) : rounds_(rounds) {}

  // Nothing without a graph and above the limit.
  std::optional<double> second_modulus(const std::shared_ptr<const topology::Graph>& graph);
  // The same of its sequence, null: still; nothing if rounds are free or take no averages.
  std::optional<double> mixing_rate(const std::shared_ptr<const topology::Graph>& graph,
                                    const topology::Sequence* sequence = nullptr);

 private:
  bool knows(const std::shared_ptr<const topology::Graph>& graph);

  Rounds rounds_;
  std::shared_ptr<const topology::Graph> graph_;  // kept, so that its address stays its own
  double modulus_ = 0;
  std::optional<double> rate_;  // nothing: not computed yet
};

}  // namespace starling::daemon
