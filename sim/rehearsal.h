// Rehearsal: a run of a fleet in virtual time, to see how much of the time its machines will
// compute. The nodes are those of a world; their model is small, stands in for one of any size, and
// its payloads weigh as much as those would.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/time.h"
#include "sim/fleet_plan.h"
#include "sim/options.h"

namespace starling::sim {

struct RehearsalOptions {
  Options world = {};  // with goal and network of no plan
  FleetPlan plan = {};
  std::size_t number_bytes = 4;  // of a parameter, before any encoding
  // A step of the stand-in stands for so many of the plan.
  double steps_each = 1;
  std::uint64_t rounds = 40, rounds_least = 8;
  double loss = 0;  // held-out, of the stand-in, whose time is wanted
  // The virtual time that the rehearsal may take, times the machines. Where it would take more,
  // time passes faster; the times that the protocol takes for itself stay as they are then, and
  // weigh more.
  double machine_s = 1e5;
};

// Times are those of the plan, however fast the rehearsal went.
struct Rehearsal {
  double goodput = 0;      // of the time that machines are there: that they compute
  double away = 0;         // of the time of all machines: that they are dead
  double start_s = 0;      // until all machines have done a round, whose vectors are whole
  double round_s = 0;      // mean, after the first
  double bytes_a_day = 0;  // of vectors, that a machine sends
  std::uint64_t rounds = 0, deaths = 0;
  double last_loss = 0;
  std::optional<double> loss_s = {};  // when the mean loss of the machines was first below
  double haste = 1;                   // see geography_of()
};

// Ends when the fastest node has done the rounds, or the least of them and the loss is reached, or
// after much longer than the rounds should take.
// REQUIRES a step and a model.
Rehearsal rehearse(RehearsalOptions options, const TrainerFactory& make_trainer);

}  // namespace starling::sim
