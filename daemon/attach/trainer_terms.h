// TrainerTerms: the properties of the run that a trainer gets or must support.
#pragma once

#include "base/result.h"
#include "daemon/attach/records.h"
#include "optim/algorithms/registry.h"

namespace starling::daemon {

struct TrainerTerms {
  Welcome welcome = {};
  const optim::AlgorithmRow* algorithm = optim::algorithm_named("dpsgd");
  bool weighs_samples = false;  // the loss of a node weighs by its samples (data.weight)
  std::string life = {};  // of the daemon, which starts the trainer itself; empty: it does not
};

// Whether the run has the right limit with a trainer of these abilities. The error says what to do.
Result<void> check_terms(const TrainerTerms& terms, const Hello& hello);

}  // namespace starling::daemon
