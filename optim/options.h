// Options of training: the settings of section `optim` and those of `exchange` and `model` that
// choose the number format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/secret.h"
#include "base/settings.h"
#include "optim/aggregation.h"
#include "optim/algorithms/registry.h"
#include "optim/codec/wire_form.h"
#include "optim/learning_rate.h"
#include "optim/needs.h"

namespace starling::optim {

enum class LocalOptimizerKind { sgd, momentum, nesterov, adam, adamw };
// All of them, in the order in which people see them.
std::vector<LocalOptimizerKind> local_optimizers();
// Whether a step is a linear function of the gradients. The mean of such steps is the step for the
// mean of the gradients; with adam it is not.
bool is_linear(LocalOptimizerKind kind);
bool allows(const OptimizerRule& rule, LocalOptimizerKind kind);

// The step after a round of local steps and averaging; see algorithms/outer_step.h.
enum class OuterKind { none, nesterov, slowmo };

struct Options {
  // Null: `auto`; the caller must choose before making a trainer.
  const AlgorithmRow* algorithm = algorithm_named("dpsgd");
  LocalOptimizerKind local_optimizer = LocalOptimizerKind::sgd;
  double learning_rate = 0.1;
  Schedule schedule;
  double momentum = 0.9;
  double adam_beta2 = 0.999;
  double weight_decay = 0;
  StepCount local_steps;
  OuterKind outer = OuterKind::none;
  // Nothing: the published value of the kind, or of an algorithm with its own outer step.
  std::optional<double> outer_learning_rate, outer_momentum;
  double outer_pull = 0.7;                           // gamma of NoLoCo
  double penalty = 0.1;                              // rho of ADMM
  double relaxation = 0.5;                           // alpha of ADMM
  std::size_t batch_size = 32;                       // 0: all samples
  WireForm codec = {.format = format_named("f32")};  // without segments
  Aggregation aggregation;
  bool overlap = false;  // steps go on while vectors travel
  // The bound C of a sample's gradient, 0: none; the noise sigma of a step, in units of C; and the
  // delta for which epsilon is told. See privacy/accountant.h.
  double clip = 0, noise = 0, delta = 1e-5;
  // Of this life alone, KeyStream::kKeySize bytes that nobody else knows. Null: the noise follows
  // from the seed, which hides nothing. The caller fills it in.
  std::shared_ptr<const Secret> noise_key;
  // A node weighs by its steps in a round, over those of a node of pace 1. The caller fills it in.
  bool weighs_steps = false;
  std::uint64_t seed = 1;                  // of the initial parameters: the same on every node
  std::size_t evaluation_samples = 2'000;  // 0: all
};

void describe(Schema& schema);
// The agreed keys and their values.
std::vector<Term> agreed(const Options& options);
// `precision` is that of the model; the codec follows it unless set. The caller fills in the seed.
Options read_options(Reader& reader, const Format& precision);

// Of `from` what a running trainer can change.
void take_live(Options& options, const Options& from);
// A hash of the values on which it depends what vectors mean: of the algorithm, its outer step and
// its constants, and of how vectors are encoded and averaged. Nodes exchange vectors only if theirs
// are equal, and a trainer that takes others begins its algorithm anew. REQUIRES that an algorithm
// is chosen.
std::uint64_t form_of(const Options& options);

// The requirements of the algorithm with the codec. REQUIRES that an algorithm is chosen.
Needs needs_of(const Options& options);
// The format of vectors if each can be decoded by itself; else null. REQUIRES the same.
inline const Format* readable_format(const Options& options) {
  return needs_of(options).in_order ? nullptr : options.codec.format;
}

// Among which the nodes choose with exchange.codec = auto; none: the codec is fixed.
std::vector<EncodingChoice> encodings_of(const Options& options);

std::string_view name(LocalOptimizerKind kind);
std::string_view name(OuterKind kind);
// The algorithm and its outer step, for people: dpsgd, dpsgd+nesterov. REQUIRES that one is chosen.
std::string full_name(const Options& options);

}  // namespace starling::optim
