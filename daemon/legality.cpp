#include "daemon/legality.h"

#include <fmt/core.h>

namespace starling::daemon {

using optim::Algorithm;
using optim::LocalOptimizerKind;

void check_legality(const gossip::Options& node, const optim::Options& training, Reader& reader) {
  const std::string_view algorithm = name(training.algorithm);
  if (training.algorithm == Algorithm::qg && training.local_optimizer != LocalOptimizerKind::sgd)
    reader.mistake("optim.local-optimizer",
                   "qg brings a momentum of its own; use sgd, or algorithm dpsgd");
  if (training.algorithm == Algorithm::ed && training.local_optimizer == LocalOptimizerKind::adam)
    reader.mistake("optim.local-optimizer",
                   "the limit of ed with adam is biased; use sgd or momentum, or algorithm gt, "
                   "which is exact with adam");
  if (!is_exact(training.algorithm)) return;
  if (node.missing != gossip::Missing::late)
    reader.mistake("exchange.missing",
                   fmt::format("{} is exact only where both ends of an edge average the same "
                               "vectors; use late, or algorithm dpsgd",
                               algorithm));
  if (node.topology.kind == topology::Kind::exponential)
    reader.mistake("topology.kind",
                   fmt::format("its edges lead one way, and {} needs both; use hypercube or "
                               "random, or algorithm dpsgd",
                               algorithm));
}

}  // namespace starling::daemon
