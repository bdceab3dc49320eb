// Trace: what all nodes of a world say of themselves at equal intervals of virtual time. Where
// nodes go at speeds of their own the rounds are no common axis, the time is.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "gossip/report/summary.h"
#include "sim/world.h"

namespace starling::sim {

class Trace {
 public:
  // Over all records; where they would be more, every second one goes and the interval doubles.
  static constexpr std::size_t kNodesLimit = 1'000'000;

  // An interval of 0 records nothing. REQUIRES that the world outlives it.
  Trace(const World& world, Duration interval) : world_(&world), interval_(interval) {}

  void record();     // what the nodes say of themselves now
  Time due() const;  // when to record next; kNever where nothing is wanted
  std::vector<gossip::TraceRecord> take() { return std::move(records_); }

 private:
  void thin();

  const World* world_;
  Duration interval_;
  std::vector<gossip::TraceRecord> records_;
};

}  // namespace starling::sim
