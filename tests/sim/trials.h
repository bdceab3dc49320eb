// Trials that are quick: few nodes, the reference problem, steps that take long.
#pragma once

#include "sim/soak.h"
#include "tests/sim/reference.h"

namespace starling::test {

// Rates that fall to nothing, so that models must come together after the last fault.
inline optim::Options fading_training() {
  optim::Options options = reference_training(0.1);
  options.schedule = {.shape = optim::Schedule::Shape::step, .rounds = 20, .factor = 0};
  return options;
}

inline sim::TrialOptions quick_trial(std::size_t nodes = 8) {
  sim::TrialOptions trial;
  trial.world = reference_world(nodes, topology::Kind::automatic, fading_training());
  trial.world.compute = std::chrono::seconds(1);
  trial.world.network.delay = std::chrono::milliseconds(5);
  trial.world.network.jitter = std::chrono::milliseconds(10);
  trial.world.phases = {.chaos = std::chrono::seconds(90), .healed = std::chrono::seconds(70)};
  return trial;
}

// One node is slower than the others are in step, before and after the last fault.
inline sim::TrialOptions straggler_trial() {
  sim::TrialOptions trial = quick_trial();
  trial.world.compute = std::chrono::milliseconds(50);
  trial.world.straggler = 20;
  return trial;
}

inline sim::TrainerFactory quick_trainers() {
  return reference_trainers(fading_training(), {.n = 8});
}

}  // namespace starling::test
