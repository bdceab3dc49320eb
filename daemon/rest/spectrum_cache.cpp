#include "daemon/rest/spectrum_cache.h"

#include "topology/spectrum.h"

namespace starling::daemon {

std::optional<double> SpectrumCache::second_modulus(
    const std::shared_ptr<const topology::Graph>& graph) {
  if (!graph || graph->size() > kVerticesLimit) return std::nullopt;
  // A node that rebuilds the same graph costs a comparison, not an eigenvalue problem.
  const bool known = graph_ && (graph_ == graph || *graph_ == *graph);
  if (!known) modulus_ = topology::second_modulus(*graph);
  graph_ = graph;
  return modulus_;
}

}  // namespace starling::daemon
