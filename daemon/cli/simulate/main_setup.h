// Setup: what a command line says of a simulated run.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/command_line.h"
#include "base/settings.h"
#include "daemon/cli/help/seed_range.h"
#include "daemon/setup/config.h"
#include "sim/seed_runs.h"

namespace starling::daemon {

struct Setup {
  sim::Options options;
  Config config;
  bool are_seeded = false;   // the seed of a run is that of training too
  std::string default_goal;  // set in the absence of a user's; empty: none
  SeedRange seeds;
  sim::SeededTrainers trainers;        // for the seed of a run
  sim::TrainerFactory chaos_trainers;  // whose chance is that of node.seed under every fault
};

struct SetupHints {
  std::optional<std::size_t> nodes = {};            // in place of --nodes
  std::vector<SettingSources::Pair> defaults = {};  // for keys that the user leaves open
};

// The keys of a node and those of the simulator.
const Schema& simulation_schema();

// Without trainers.
Result<Setup> read_setup(const CommandLine& line, const SetupHints& hints = {});
// Loads the data.
Result<Setup> make_setup(const CommandLine& line, const SetupHints& hints = {});

// That a simulation by these arguments can begin, without its data.
Result<void> check_simulation(const CommandLine& line);

}  // namespace starling::daemon
