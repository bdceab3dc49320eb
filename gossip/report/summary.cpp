#include "gossip/report/summary.h"

namespace starling::gossip {

std::optional<double> mean(std::span<const NodeSummary> nodes,
                           std::optional<double> NodeSummary::*member) {
  double total = 0, count = 0;
  for (const NodeSummary& node : nodes)
    if (node.*member) total += *(node.*member), ++count;
  return count > 0 ? std::optional(total / count) : std::nullopt;
}

}  // namespace starling::gossip
