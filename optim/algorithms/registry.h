// Registry: one row for each algorithm, and in it everything that depends on which one it is. The
// checks of settings, the choice of `auto`, the help and the trainer read the row and name no
// algorithm. To add one: its file in this folder, its row in registry.cpp, its row in
// docs/algorithms.md.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "optim/job.h"
#include "optim/vector/buffer_pool.h"

namespace starling::optim {

struct Options;
template <class S>
class Algorithm;

// The local optimizers with which an algorithm ends where it should.
struct OptimizerRule {
  enum class Allowed { any, linear, sgd };  // linear in the gradient: all but adam
  Allowed allowed = Allowed::any;
  std::string_view reason = {};   // said of the algorithm: "brings a momentum of its own"
  std::string_view instead = {};  // the nearest algorithm that bears every optimizer
};

// What a training loop outside of this program must do in each of its steps for an algorithm.
enum class LoopDuty {
  none,              // any loop will do
  correct_gradient,  // add LocalSteps::added to the gradient
  correct_step,      // add LocalSteps::correction to the parameters, after the step
  serve_gradients,   // a loop will not do: the algorithm takes steps of its own
};

// What `optim.algorithm = auto` takes an algorithm for.
struct AutoRule {
  // Of those that the other settings allow, the least rank is taken where data differ by node.
  // 0: never.
  unsigned rank = 0;
  // Taken before all others on a wide network, whose messages come late.
  bool bears_delay = false;
};

// Makes it at the point x.
template <class S>
using MakeAlgorithm = std::unique_ptr<Algorithm<S>> (*)(std::span<const S> x,
                                                        std::shared_ptr<BufferPool> pool,
                                                        const Options& options);
struct AlgorithmMaker {
  MakeAlgorithm<float> in_single;
  MakeAlgorithm<double> in_double;
};

struct AlgorithmRow {
  std::string_view name;  // in settings, hellos and the status
  // Not empty: what the literature calls it with several local steps. Settings may say so too.
  std::string_view alias = {};
  std::string_view help;  // a line for `starling config`: what it is for and what it costs
  Needs needs = {};
  std::size_t vectors_offered = 1;  // of the model's size in one offer
  // Plain averaging: where data differ by node its limit is biased.
  bool is_plain = false;
  // The nearest algorithm that exchanges with all neighbours where this one exchanges by pairs, and
  // by pairs where this one does not.
  std::string_view counterpart = {};
  OptimizerRule optimizers = {};
  LoopDuty loop = LoopDuty::none;
  // Not empty: it diverges where vectors of different rounds are averaged, and this is what to take
  // there.
  std::string_view mixed_rounds_instead = {};
  // Not empty: with an outer step (optim.outer) it does not end where it should, and why.
  std::string_view outer_refusal = {};
  // Not empty: it takes equally many local steps in every round, and why.
  std::string_view varying_steps_refusal = {};
  AutoRule choice = {};
  AlgorithmMaker make;
};

// In the order in which people see them. A row lives as long as the program and is told from
// another by its address.
std::span<const AlgorithmRow> algorithms();
// Null where there is none of that name; an alias is none.
const AlgorithmRow* find_algorithm(std::string_view name);
// REQUIRES that there is one: our code names it, not the user.
const AlgorithmRow* algorithm_named(std::string_view name);

}  // namespace starling::optim
