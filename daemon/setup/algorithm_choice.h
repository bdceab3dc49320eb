// Algorithm choice: the algorithm for `optim.algorithm = auto`. It follows from settings that all
// nodes share, so that all choose the same without a message.
#pragma once

#include <string>

#include "base/settings.h"
#include "gossip/options.h"
#include "models/learner.h"

namespace starling::daemon {

struct AlgorithmChoice {
  const optim::AlgorithmRow* algorithm = nullptr;
  std::string reason;  // as a person reads it: "data differ by node (…)"
};

// Advice if another algorithm than the chosen one would end nearer to the optimum of all data; else
// empty.
std::string advise(const gossip::Options& node, const models::LearnerOptions& learner,
                   const Reader& reader);

// The decision table of docs/choosing.md.
AlgorithmChoice choose_algorithm(const gossip::Options& node, const models::LearnerOptions& learner,
                                 const Reader& reader);

}  // namespace starling::daemon
