// Registry: one row for each algorithm, with everything that differs by algorithm. The checks of
// settings, the choice of `auto`, the help and the trainer read the row. To add an algorithm: a
// file in optim/algorithms/ (contract: algorithm.h; a short one: exact_diffusion.h), a row in
// registry.cpp, reference numbers in tests/sim/convergence_test.cpp, a row in docs/algorithms.md, a
// card in docs/choosing.md.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "optim/needs.h"
#include "optim/vector/buffer_pool.h"

namespace starling::optim {

struct Options;
struct WireForm;
template <class S>
class Algorithm;

// The local optimizers with which an algorithm has the right limit.
struct OptimizerRule {
  enum class Allowed { any, linear, sgd };  // linear in the gradient: all but adam
  Allowed allowed = Allowed::any;
  std::string_view reason = {};   // about the algorithm: "brings a momentum of its own"
  std::string_view instead = {};  // the nearest algorithm that allows every optimizer
};

// The duty of an external training loop in each of its steps, for an algorithm.
enum class LoopDuty {
  none,              // any loop will do
  correct_gradient,  // add LocalSteps::added to the gradient
  correct_step,      // add LocalSteps::correction to the parameters, after the step
  serve_gradients,   // impossible: the algorithm takes steps of its own
};

// When `optim.algorithm = auto` chooses an algorithm.
struct AutoRule {
  // If data differ by node, auto takes the least rank that the other settings allow. 0: never.
  unsigned rank = 0;
  // Preferred on a wide network, where messages come late.
  bool tolerates_delay = false;
  // Slow where vectors of different rounds are averaged and nodes differ in speed; an algorithm
  // that is not is preferred there.
  bool heeds_stragglers = false;
};

// Makes the algorithm at the point x.
template <class S>
using MakeAlgorithm = std::unique_ptr<Algorithm<S>> (*)(std::span<const S> x,
                                                        std::shared_ptr<BufferPool> pool,
                                                        const Options& options,
                                                        const WireForm& form);
struct AlgorithmMaker {
  MakeAlgorithm<float> in_single;
  MakeAlgorithm<double> in_double;
};

struct AlgorithmRow {
  std::string_view name;  // in settings, hellos and the status
  // Its name in the literature with several local steps, if different; settings accept it too.
  std::string_view alias = {};
  std::string_view help;  // a line for `starling config`: what it is for and what it costs
  Needs needs = {};
  std::size_t vectors_offered = 1;  // of the model's size in one offer
  // Plain averaging: if data differ by node, the limit is biased.
  bool is_plain = false;
  // The limit is the optimum of all data, however these differ by node.
  bool is_exact = false;
  // The nearest algorithm that exchanges with all neighbours if this one does so by pairs, and vice
  // versa.
  std::string_view counterpart = {};
  OptimizerRule optimizers = {};
  LoopDuty loop = LoopDuty::none;
  // Not empty: it may diverge if vectors of different rounds are averaged; use this one then.
  std::string_view mixed_rounds_instead = {};
  // Not empty: why its limit is wrong with an outer step (optim.outer).
  std::string_view outer_refusal = {};
  // Not empty: why the distance of a neighbour's vector says nothing, so that none is shortened.
  std::string_view distance_refusal = {};
  // Not empty: why the number of local steps must be the same in every round.
  std::string_view varying_steps_refusal = {};
  AutoRule choice = {};
  AlgorithmMaker make;
};

// In the order of display. Rows are static; compare them by address.
std::span<const AlgorithmRow> algorithms();
// Null if there is none of that name; ignores aliases.
const AlgorithmRow* find_algorithm(std::string_view name);
// Whether the algorithm stays exact where parts of its vectors are averaged after the next steps.
bool allows_overlap(const AlgorithmRow& row);
// Whether its nodes may take different numbers of steps in a round: the limit stays what the nodes
// weigh. `by_steps`: they weigh by these (data.weight = steps), as plain averaging has it anyway.
bool allows_unequal_steps(const AlgorithmRow& row, bool by_steps);
// REQUIRES that there is one: our code names it, not the user.
const AlgorithmRow* algorithm_named(std::string_view name);

}  // namespace starling::optim
