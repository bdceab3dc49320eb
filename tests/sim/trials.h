// Trials that are quick: few nodes, the reference problem, steps that take long.
#pragma once

#include <fmt/format.h>

#include "sim/scenario.h"
#include "sim/soak.h"
#include "tests/sim/live_terms.h"
#include "tests/sim/reference.h"

namespace starling::test {

// Rates that fall to nothing, so that models must come together after the last fault.
inline optim::Options fading_training() {
  optim::Options options = reference_training(0.1);
  options.schedule = {.shape = optim::Schedule::Shape::step, .rounds = 20, .factor = 0};
  return options;
}

inline sim::Options quick_trial(std::size_t nodes = 8) {
  sim::Options trial;
  trial = reference_world(nodes, topology::Kind::automatic, fading_training());
  trial.compute = std::chrono::seconds(1);
  trial.network.delay = std::chrono::milliseconds(5);
  trial.network.jitter = std::chrono::milliseconds(10);
  trial.phases = {.chaos = std::chrono::seconds(90), .healed = std::chrono::seconds(70)};
  return trial;
}

// The same with vectors that are encoded against earlier ones.
inline optim::Options compressed_training() {
  optim::Options options = fading_training();
  options.codec = optim::wire_form_named("i4");
  return options;
}
inline sim::Options compressed_trial() {
  sim::Options trial = quick_trial();
  const optim::Options training = compressed_training();
  trial.base.needs = needs_of(training);
  trial.format = readable_format(training);
  trial.aggregation = training.aggregation;
  return trial;
}

// One node is slower than the others are in step, before and after the last fault.
inline sim::Options straggler_trial() {
  sim::Options trial = quick_trial();
  trial.compute = std::chrono::milliseconds(50);
  trial.straggler = 20;
  return trial;
}

// Five of eight nodes are behind two NATs. Fewer edges mix more slowly.
inline sim::Options hidden_trial() {
  sim::Options trial = quick_trial();
  trial.hiding = {5, 2};
  trial.phases.healed = std::chrono::seconds(100);
  return trial;
}

// Users change settings of all nodes. Rates are what a user can write: they fall to next to
// nothing.
inline optim::Options setting_training() {
  optim::Options options = fading_training();
  options.schedule.factor = 1e-9;
  return options;
}
inline sim::Options setting_trial() {
  sim::Options trial = quick_trial();
  trial.base.reconfigure = reconfigure_from(trial.base, setting_training());
  trial.phases.sets = true;
  return trial;
}

// One member lies.
inline sim::Options lying_trial(std::string_view lie) {
  sim::Options trial = quick_trial();
  trial.lie = sim::lie_named(lie);
  return trial;
}

// A sequence of graphs over which exact diffusion diverges if nothing damps it.
inline optim::Options sequence_training() {
  optim::Options options = reference_training(0.3);
  options.algorithm = optim::algorithm_named("ed");
  return options;
}
inline constexpr std::size_t kSequenceNodes = 13;
inline sim::Options sequence_trial() {
  sim::Options trial =
      reference_world(kSequenceNodes, topology::Kind::automatic, sequence_training());
  const sim::Options quick = quick_trial();
  trial.compute = quick.compute;
  trial.network = quick.network;
  trial.base.topology.sequence = *topology::parse_sequence("base:2");
  trial.phases = {.chaos = std::chrono::seconds(30), .healed = std::chrono::seconds(330)};
  return trial;
}

inline sim::TrainerFactory quick_trainers(const optim::Options& training = fading_training()) {
  return reference_trainers(training, {.n = 8});
}

// Eight nodes under one fault for fifty seconds, for those faults that chaos draws in few seeds.
inline sim::Scenario written_scenario(std::uint64_t seed, std::string_view fault) {
  return *sim::parse_scenario(
      fmt::format("seed {}\nnodes 8\nchaos 60 s\nat 5 s: {}\n", seed, fault));
}
inline constexpr std::string_view kForged = "forge 0.01 for 50 s";
// Its neighbours have heard it, and it lives: only their patience ends their rounds.
inline constexpr std::string_view kHung = "slow node-3 80 for 50 s";

}  // namespace starling::test
