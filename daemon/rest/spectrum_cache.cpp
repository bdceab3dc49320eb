#include "daemon/rest/spectrum_cache.h"

#include "topology/spectrum.h"

namespace starling::daemon {

std::optional<double> SpectrumCache::second_modulus(
    const std::shared_ptr<const topology::Graph>& graph) {
  if (!knows(graph)) return std::nullopt;
  return modulus_;
}

std::optional<double> SpectrumCache::mixing_rate(
    const std::shared_ptr<const topology::Graph>& graph, const topology::Sequence* sequence) {
  if (rounds_.are_free || rounds_.share <= 0 || !knows(graph)) return std::nullopt;
  if (!rate_) {
    if (sequence)
      rate_ = sequence->modulus(rounds_.share);
    else
      rate_ = rounds_.share == 1 ? modulus_ : topology::second_modulus(*graph, rounds_.share);
  }
  return rate_;
}

// Computes the modulus of a new graph; false if there is no graph.
bool SpectrumCache::knows(const std::shared_ptr<const topology::Graph>& graph) {
  if (!graph || graph->size() > kVerticesLimit) return false;
  // A node that rebuilds the same graph costs a comparison, not an eigenvalue problem.
  const bool known = graph_ && (graph_ == graph || *graph_ == *graph);
  graph_ = graph;
  if (known) return true;
  modulus_ = topology::second_modulus(*graph);
  rate_.reset();
  return true;
}

}  // namespace starling::daemon
