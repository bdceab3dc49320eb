// SweepRuns: the runs of a sweep. Each is a process of this program, whose document goes into a
// file of its own as soon as the run ends, so that a sweep that was interrupted goes on.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "daemon/cli/sweep/grid.h"

namespace starling::daemon {

struct SweepRun {
  std::size_t point = 0;               // of the grid, by index
  std::vector<std::string> arguments;  // of the program
  nlohmann::json document = {};        // what the run printed; null: there is none
  std::string problem = {};            // why not; empty: it did not run yet
};

struct SweepFolder {
  std::string path;
  // What the arguments do not say: the text of the configuration, and the environment but for
  // addresses, which change no result.
  std::string inputs;
};

// Reads the documents of earlier runs with the same arguments and inputs.
void recall_runs(const SweepFolder& folder, std::vector<SweepRun>& runs);

struct SweepPace {
  std::size_t at_once = 1;
  std::function<bool()> is_interrupted;
  std::function<void()> told;  // whenever a run has ended, and several times a second
};
// Runs those without a document, in their order, until all have ended or is_interrupted: then those
// under way are ended, and lost. Returns whether none is missing. The folder exists.
bool run_all(const SweepFolder& folder, const SweepPace& pace, std::vector<SweepRun>& runs);

}  // namespace starling::daemon
