// SeedRuns: one run under many seeds, on as many threads as wanted, and what its results have in
// common.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "gossip/report/summary.h"
#include "sim/simulation.h"

namespace starling::sim {

// The trainers of one run; the seed is that of their chance.
using SeededTrainers = std::function<TrainerFactory(std::uint64_t seed)>;

struct SeedRunOptions {
  Options world = {};  // its seed is replaced
  std::uint64_t first_seed = 1, last_seed = 1;
  std::size_t threads = 1;
};

// How one run ended. Over its nodes: means of loss, accuracy and error, root mean squares of both
// distances, and the sum of the bytes sent. A value that no node has is empty.
struct SeedResult {
  std::uint64_t seed = 0, round = 0, sent_bytes = 0, event_hash = 0;
  bool reached = false;  // the goal, by all nodes
  double virtual_s = 0;
  std::optional<double> loss = {}, accuracy = {}, rmse = {}, distance = {},
                        distance_to_optimum = {};
  std::vector<gossip::Breach> violations = {};
};
// REQUIRES the summary of a simulation.
SeedResult result_of(const gossip::Summary& summary);

// Gives each result to `found` as soon as those of all seeds before it were given, one at a time.
// Everything else is called from every thread; `told` as by simulate(), with the seed.
void run_seeds(
    const SeedRunOptions& options, const SeededTrainers& trainers,
    const std::function<void(SeedResult)>& found,
    const std::function<void(std::uint64_t seed, Time now, const gossip::Progress&)>& told);

}  // namespace starling::sim
