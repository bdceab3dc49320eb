// How to train: the settings of section `optim` and the parts of `exchange` and `model` that say
// in which numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/settings.h"
#include "optim/algorithms/registry.h"
#include "optim/codec/format.h"
#include "optim/job.h"
#include "optim/learning_rate.h"

namespace starling::optim {

enum class LocalOptimizerKind { sgd, momentum, nesterov, adam };

struct Options {
  // Null: `auto`, for whoever knows the cluster to choose before anything is made of it.
  const AlgorithmRow* algorithm = algorithm_named("dpsgd");
  LocalOptimizerKind local_optimizer = LocalOptimizerKind::sgd;
  double learning_rate = 0.1;
  Schedule schedule;
  double momentum = 0.9;
  double weight_decay = 0;
  std::size_t local_steps = 1;
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

}  // namespace starling::optim
