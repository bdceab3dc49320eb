// The part of starling simulate that plays faults: one scenario, or one for each of many seeds.
#pragma once

#include <functional>
#include <memory>

#include "base/settings.h"
#include "optim/trainer.h"

namespace starling::sim {
struct Options;
}

namespace starling::daemon {

// What sim::TrainerFactory is.
using TrainerMaker = std::function<std::unique_ptr<optim::Trainer>(std::size_t index)>;

// Whether the command line asks for faults.
bool is_chaos(const CommandLine& line);
// Gives the exit code of the program. `make_trainer` is called from several threads.
int simulate_chaos(const CommandLine& line, const sim::Options& options,
                   const TrainerMaker& make_trainer);

}  // namespace starling::daemon
