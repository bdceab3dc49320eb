// Legality: which choices are compatible, by the rows of optim/algorithms/registry.h. An
// incompatible one is a mistake, with the reason and the nearest compatible choice
// (docs/choosing.md).
#pragma once

#include <vector>

#include "base/settings.h"
#include "gossip/options.h"
#include "models/learner.h"
#include "optim/options.h"

namespace starling::daemon {

// REQUIRES that training.algorithm is chosen.
void check_legality(const gossip::Options& node, const optim::Options& training, Reader& reader);

// optim.clip and optim.noise: that what a node sends depends on its samples by clipped and noisy
// gradients alone (docs/privacy.md). REQUIRES that the algorithm is chosen.
void check_privacy(const gossip::Goal& goal, const models::LearnerOptions& learner, Reader& reader);

// data.split = columns: that the model has a dual, and the algorithm solves it.
void check_split(const models::LearnerOptions& learner, Reader& reader);

// data.refit: that there are held-out rows to train on, and a round after which that begins.
void check_refit(const gossip::Options& node, const models::LearnerOptions& learner,
                 Reader& reader);

// Whether its row allows this schedule, quorum and local optimizer; for `auto`.
bool allows(const optim::AlgorithmRow& algorithm, const gossip::Options& node,
            optim::LocalOptimizerKind optimizer);

}  // namespace starling::daemon
