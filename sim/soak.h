// Soak: many seeds, each a scenario of its own, on as many threads as wanted. What it finds is
// named by its seed, and cut down to the faults that matter.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/trial.h"

namespace starling::sim {

struct SoakOptions {
  Options world = {};  // nodes and seed are those of each scenario
  std::uint64_t first_seed = 1, last_seed = 100;
  std::size_t threads = 1;
  std::size_t failures_limit = 10;  // then no further seed is begun
  // Is told after every seed, by one thread at a time: how many are done, and which failed.
  std::function<void(std::uint64_t done, const std::vector<std::uint64_t>& failed)> told = {};
};

struct SoakReport {
  std::uint64_t seeds = 0;             // that were tried
  std::vector<Verdict> failures = {};  // by seed
  FaultCounts counts = {};
  std::uint64_t rounds = 0, events = 0;
  std::uint64_t hash = 0;  // over the event hashes, in the order of the seeds
  Duration slowest_agreement{};
};

// `make_trainer` is called from every thread.
SoakReport soak(const SoakOptions& options, const TrainerFactory& make_trainer);

// Drops faults while the same law breaks, in halves first and then one by one.
Verdict shrink(const Options& options, const TrainerFactory& make_trainer, const Verdict& failure);

std::string to_text(const SoakReport& report);

}  // namespace starling::sim
