#include "optim/options.h"

#include <fmt/core.h>

#include <array>
#include <span>
#include <vector>

namespace starling::optim {
namespace {

using namespace std::string_view_literals;

constexpr std::array kLocalOptimizers = {"sgd"sv, "momentum"sv, "nesterov"sv, "adam"sv};

// Tables of rows with a name and a help; "auto" stands before the first row.
template <class Row>
std::string help_of(std::string help, std::span<const Row> rows) {
  for (const Row& row : rows) help += fmt::format(", {} ({})", row.name, row.help);
  return help;
}

// Null for "auto".
template <class Row>
const Row* read_choice(Reader& reader, std::string_view key, std::span<const Row> rows) {
  std::vector<std::string_view> names = {"auto"};
  for (const Row& row : rows) names.push_back(row.name);
  const std::size_t choice = reader.choice(key, names);
  return choice == 0 ? nullptr : &rows[choice - 1];
}

}  // namespace

void describe(Schema& schema) {
  schema.add({"optim.algorithm", "auto",
              help_of("how nodes agree: auto (says which and why)", algorithms())});
  schema.add({"optim.learning-rate", "0.1",
              "step size, as for one node alone; too large diverges, too small is slow, and the "
              "bias on unequal data grows with it"});
  schema.add({"optim.learning-rate-schedule", "constant",
              "factor on the learning rate by round t: constant, step:R:f (times f every R "
              "rounds), cosine:R (to 0 at round R), inverse:R (1 / (1 + t / R)), warmup:R (linear "
              "up to round R)"});
  schema.add({"optim.momentum", "0.9",
              "beta of the local optimizers momentum, nesterov and adam; the effective step is "
              "learning-rate / (1 - beta)"});
  schema.add({"optim.weight-decay", "0",
              "lambda of g + lambda x, on all parameters; larger pulls parameters to zero"});
  schema.add({"optim.local-optimizer", "sgd", "sgd, momentum, nesterov, adam"});
  schema.add({"optim.local-steps", "1",
              "local steps between two exchanges; more saves traffic and adds drift"});
  schema.add({"optim.admm-penalty", "0.1",
              "rho of admm: how much the neighbours pull; about a tenth of the largest curvature "
              "on dense graphs, the curvature itself on sparse ones"});
  schema.add({"optim.admm-relaxation", "0.5",
              "alpha of admm, above 0, up to 1: how far each message is followed; .9 where rounds "
              "are in step, .5 where messages come late"});
  schema.add({"optim.batch-size", "32",
              "samples a local step, drawn without repetition until all were seen; 0 takes all"});
  schema.add({"exchange.codec", "auto",
              help_of("numbers on the wire: auto (those that the model computes in)", formats())});
  schema.add({"eval.samples", "0", "held-out samples an evaluation uses; 0 takes all"});
}

Options read_options(Reader& reader, const Format& precision) {
  Options options;
  options.algorithm = read_choice(reader, "optim.algorithm", algorithms());
  options.local_optimizer =
      static_cast<LocalOptimizerKind>(reader.choice("optim.local-optimizer", kLocalOptimizers));
  options.learning_rate = reader.number("optim.learning-rate", 0, 1e6);
  if (auto schedule = parse_schedule(reader.text("optim.learning-rate-schedule")))
    options.schedule = *schedule;
  else
    reader.mistake("optim.learning-rate-schedule", schedule.error().text);
  options.momentum = reader.number("optim.momentum", 0, 0.999999);
  options.weight_decay = reader.number("optim.weight-decay", 0, 1e6);
  options.local_steps = static_cast<std::size_t>(reader.integer("optim.local-steps", 1, 1'000'000));
  options.penalty = reader.number("optim.admm-penalty", 1e-12, 1e12);
  options.relaxation = reader.number("optim.admm-relaxation", 1e-6, 1);
  options.batch_size =
      static_cast<std::size_t>(reader.integer("optim.batch-size", 0, 1'000'000'000));
  const Format* const format = read_choice(reader, "exchange.codec", formats());
  options.codec = format ? format : &precision;
  options.seed = static_cast<std::uint64_t>(reader.integer("node.seed", 0, INT64_MAX));
  options.evaluation_samples =
      static_cast<std::size_t>(reader.integer("eval.samples", 0, 1'000'000'000));
  return options;
}

std::string_view name(LocalOptimizerKind kind) {
  return kLocalOptimizers[static_cast<std::size_t>(kind)];
}

}  // namespace starling::optim
