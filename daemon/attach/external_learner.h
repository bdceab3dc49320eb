// ExternalLearner: a trainer of the user's own, as the algorithms see it. In mode loop the trainer
// takes the steps of a round with its own optimizer; in mode gradients a LocalLearner takes them
// with gradients that it asks the trainer for. A node without its trainer takes no steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "daemon/attach/external_data.h"
#include "daemon/attach/keepsake.h"
#include "daemon/attach/trainer_port.h"
#include "optim/local/learner.h"
#include "optim/local/local_learner.h"
#include "optim/options.h"
#include "optim/trainer.h"

namespace starling::daemon {

// Trains the model of the trainer at the port, in the run's precision. REQUIRES an attached one.
// The port outlives the trainer. `stream` differs by node, so that batches do.
template <class S>
std::unique_ptr<optim::Trainer> make_external_trainer(const optim::Options& options,
                                                      TrainerPort& port, const Attached& first,
                                                      const SavePlan& saves, std::uint64_t stream,
                                                      std::function<Time()> clock);

}  // namespace starling::daemon
