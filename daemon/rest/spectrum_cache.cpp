#include "daemon/rest/spectrum_cache.h"

#include "topology/spectrum.h"

namespace starling::daemon {

std::optional<double> SpectrumCache::second_modulus(
    const std::shared_ptr<const topology::Graph>& graph) {
  if (!knows(graph)) return std::nullopt;
  return modulus_;
}

std::optional<double> SpectrumCache::mixing_rate(
    const std::shared_ptr<const topology::Graph>& graph) {
  const bool averages = rounds_.partners != Partners::one_free && rounds_.share > 0;
  if (!averages || !knows(graph)) return std::nullopt;
  return rate_;
}

// Computes both for a new graph; false if there is no graph.
bool SpectrumCache::knows(const std::shared_ptr<const topology::Graph>& graph) {
  if (!graph || graph->size() > kVerticesLimit) return false;
  // A node that rebuilds the same graph costs a comparison, not an eigenvalue problem.
  const bool known = graph_ && (graph_ == graph || *graph_ == *graph);
  graph_ = graph;
  if (known) return true;
  rate_ = modulus_ = topology::second_modulus(*graph);
  if (rounds_.partners == Partners::one_drawn)
    rate_ = topology::matching_modulus(*graph, rounds_.share);
  else if (rounds_.share != 1)
    rate_ = topology::second_modulus(*graph, rounds_.share);
  return true;
}

}  // namespace starling::daemon
