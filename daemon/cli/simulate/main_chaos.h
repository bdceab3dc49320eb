// The part of starling simulate that injects faults: one scenario, or one for each of many seeds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/command_line.h"
#include "daemon/cli/help/seed_range.h"
#include "optim/trainer.h"

namespace starling::sim {
struct Options;
struct Scenario;
}  // namespace starling::sim

namespace starling::daemon {

// What sim::TrainerFactory is.
using TrainerMaker = std::function<std::unique_ptr<optim::Trainer>(std::size_t index)>;

// Whether the command line asks for faults.
bool is_chaos(const CommandLine& line);
// The scenario of --scenario, whose nodes are those of the run; null without it.
Result<std::shared_ptr<const sim::Scenario>> read_scenario(const CommandLine& line);
// Returns the exit code. `make_trainer` is called from several threads. Draws a scenario from each
// seed unless one is given.
int simulate_chaos(const CommandLine& line, const sim::Options& options,
                   const TrainerMaker& make_trainer, const SeedRange& seeds,
                   const sim::Scenario* scenario);

// The results of the seeds of --seeds.
struct Tally {
  std::uint64_t seeds = 0, failures = 0;
  std::string first_failure;  // in words; empty: none
};
Result<Tally> tally_chaos(const CommandLine& line, const sim::Options& options,
                          const TrainerMaker& make_trainer);

}  // namespace starling::daemon
