// The part of starling simulate that runs the same nodes under many seeds.
#pragma once

#include "base/command_line.h"
#include "daemon/cli/help/seed_range.h"
#include "sim/seed_runs.h"

namespace starling::daemon {

// Prints a row for each seed as soon as it is done, or one document; then the mean and the
// deviation of each column. Returns the exit code.
int simulate_seeds(const CommandLine& line, const sim::Options& options,
                   const sim::SeededTrainers& trainers, const SeedRange& seeds);

}  // namespace starling::daemon
