// TrainerTerms: what a trainer is told, and what the run needs of it.
#pragma once

#include "base/result.h"
#include "daemon/attach/records.h"
#include "optim/algorithms/registry.h"

namespace starling::daemon {

struct TrainerTerms {
  Welcome welcome = {};
  const optim::AlgorithmRow* algorithm = optim::algorithm_named("dpsgd");
  bool weighs_samples = false;  // the loss of a node weighs by its samples (data.weight)
};

// Whether the run ends where it should with a trainer that can do what it says. The error says what
// to do about it.
Result<void> check_terms(const TrainerTerms& terms, const Hello& hello);

}  // namespace starling::daemon
