// Algorithm choice: what `optim.algorithm = auto` stands for. It follows from settings that all
// nodes share, so that all choose alike without asking each other.
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

// What to say of an algorithm that a person named where another one would end nearer to the optimum
// of all data; empty: nothing.
std::string advise(const gossip::Options& node, const models::LearnerOptions& learner,
                   const Reader& reader);

// The decision table of docs/algorithms.md.
AlgorithmChoice choose_algorithm(const gossip::Options& node, const models::LearnerOptions& learner,
                                 const Reader& reader);

}  // namespace starling::daemon
