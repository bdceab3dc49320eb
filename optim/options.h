// How to train: the settings of section `optim` and the parts of `exchange` and `model` that say
// in which numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/settings.h"
#include "optim/algorithms/registry.h"
#include "optim/codec/format.h"
#include "optim/job.h"
#include "optim/learning_rate.h"

namespace starling::optim {

enum class LocalOptimizerKind { sgd, momentum, nesterov, adam, adamw };
// All of them, in the order in which people see them.
std::vector<LocalOptimizerKind> local_optimizers();
// Whether a step is a linear function of the gradients. The mean of such steps is the step for the
// mean of the gradients; with adam it is not.
bool is_linear(LocalOptimizerKind kind);
bool allows(const OptimizerRule& rule, LocalOptimizerKind kind);

// What a round of local steps and averaging is followed by; see algorithms/outer_step.h.
enum class OuterKind { none, nesterov, slowmo };

struct Options {
  // Null: `auto`, for whoever knows the cluster to choose before anything is made of it.
  const AlgorithmRow* algorithm = algorithm_named("dpsgd");
  LocalOptimizerKind local_optimizer = LocalOptimizerKind::sgd;
  double learning_rate = 0.1;
  Schedule schedule;
  double momentum = 0.9;
  double adam_beta2 = 0.999;
  double weight_decay = 0;
  StepCount local_steps;
  OuterKind outer = OuterKind::none;
  // Nothing: what the kind, or the algorithm that has an outer step of its own, is published with.
  std::optional<double> outer_learning_rate, outer_momentum;
  double outer_pull = 0.7;                    // gamma of NoLoCo
  double penalty = 0.1;                       // rho of ADMM
  double relaxation = 0.5;                    // alpha of ADMM
  std::size_t batch_size = 32;                // 0: all samples
  const Format* codec = format_named("f32");  // of numbers on the wire
  std::uint64_t seed = 1;                     // of the initial parameters: the same on every node
  std::size_t evaluation_samples = 0;         // 0: all
};

void describe(Schema& schema);
// The agreed keys and these values of them.
std::vector<Term> agreed(const Options& options);
// `precision` is that of the model; the codec follows it unless it is named. The seed is the
// caller's to fill in.
Options read_options(Reader& reader, const Format& precision);

std::string_view name(LocalOptimizerKind kind);
std::string_view name(OuterKind kind);
// The algorithm and its outer step, for people: dpsgd, dpsgd+nesterov. REQUIRES that one is chosen.
std::string full_name(const Options& options);

}  // namespace starling::optim
