// A run of slices without faults, of nodes whose data differ: the world of the tests of plain
// slices and of masked ones.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/sim/cluster.h"
#include "tests/sim/masked.h"

namespace starling::test {

using Models = std::vector<std::vector<double>>;

inline constexpr std::size_t kSlicedNodes = 5, kSlicedRounds = 30;

struct SlicedRun {
  LegalWay way = sliced_way("dpsgd");
  bool is_masked = false;  // by keys, which plain ones do without
  std::size_t numbers = 7;
  bool sums_models = true;  // at the end; never behind masks
};

struct SlicedResult {
  Models models = {};       // by node
  std::uint64_t bytes = 0;  // that all have sent over edges
};

inline SlicedResult result_of(const SlicedRun& run) {
  optim::Options training = reference_training(.05);
  training = run.is_masked ? masked_training(run.way, training) : training_by(run.way, training);
  sim::Options options = masked_world(kSlicedNodes, run.way, training);
  options.has_keys = run.is_masked;
  options.base.goal.rounds = kSlicedRounds;
  options.base.needs.sums_models = run.sums_models && !run.is_masked;
  const ReferenceShape shape{.n = kSlicedNodes, .d = run.numbers};
  Cluster cluster(options, run.is_masked ? masked_trainers(training, options.seed, shape)
                                         : reference_trainers(training, shape));
  cluster.start_all();
  cluster.world.run_until(Time(60s));
  SlicedResult result;
  for (std::size_t node = 0; node < kSlicedNodes; ++node) {
    CHECK(cluster.world.status(node).run.round == kSlicedRounds);
    result.models.push_back(cluster.world.trainer(node).parameters());
    for (const gossip::EdgeStatus& edge : cluster.world.status(node).edges)
      result.bytes += edge.sent_bytes;
  }
  for (const sim::Violation& violation : cluster.checker.violations())
    FAIL_CHECK(sim::to_text(violation, 1));
  return result;
}

// Of two numbers in the same place.
inline double largest_difference(const Models& one, const Models& other) {
  double most = 0;
  for (std::size_t node = 0; node < one.size(); ++node)
    for (std::size_t k = 0; k < one[node].size(); ++k)
      most = std::max(most, std::abs(one[node][k] - other[node][k]));
  return most;
}

}  // namespace starling::test
