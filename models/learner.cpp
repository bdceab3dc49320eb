#include "models/learner.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "base/ids.h"
#include "models/data/survey.h"
#include "models/dual/dual_objective.h"
#include "models/factory.h"
#include "models/nets/layer_registry.h"
#include "optim/relay.h"

namespace starling::models {
namespace {

// The steps of adam are as long as the learning rate, however far running statistics are from what
// was measured.
Result<void> check_statistics(const LearnerOptions& options) {
  const ModelOptions& model = options.model;
  const auto& layers = model.start ? model.start->card.shape.layers : model.layers;
  const auto keeps = std::ranges::find_if(
      layers, [](const LayerSpec& layer) { return layer.row->keeps_statistics; });
  if (expected_kind(model, options.data) != ModelKind::net || keeps == layers.end() ||
      is_linear(options.optim.local_optimizer))
    return {};
  return fail(
      "model.layers: the running statistics of {} (layer {}) need steps in proportion to their "
      "derivative; expected optim.local-optimizer = sgd, momentum or nesterov",
      to_string(*keeps), keeps - layers.begin() + 1);
}

// What clips the gradients of single samples needs them apart.
Result<void> check_clipping(const LearnerOptions& options) {
  const ModelOptions& model = options.model;
  const auto& layers = model.start ? model.start->card.shape.layers : model.layers;
  const auto mixes = std::ranges::find_if(
      layers, [](const LayerSpec& layer) { return layer.row->keeps_statistics; });
  if (options.optim.clip == 0 || expected_kind(model, options.data) != ModelKind::net ||
      mixes == layers.end())
    return {};
  return fail(
      "model.layers: {} (layer {}) mixes the samples of a batch, so that none has a gradient of "
      "its "
      "own; expected layers without it, or optim.clip = 0 (now {})",
      to_string(*mixes), mixes - layers.begin() + 1, options.optim.clip);
}

// An evaluation is told to others, and without held-out rows it is of those that noise is to hide.
Result<void> check_held_out(const LearnerOptions& options, const Data& data) {
  if (options.optim.noise == 0 || data.test.rows > 0) return {};
  return fail(
      "optim.noise = {}: no row of these data is held out, and evaluations, which others are told, "
      "would be of the rows that the noise is to hide; expected data.test-path, data.holdout above "
      "0, or optim.noise = 0",
      options.optim.noise);
}

template <class S>
Result<std::unique_ptr<optim::Trainer>> make_typed(const LearnerOptions& options,
                                                   std::shared_ptr<const Data> data,
                                                   std::string_view name,
                                                   std::function<Time()> clock) {
  TRY_DO(check_statistics(options));
  TRY_DO(check_clipping(options));
  TRY_DO(check_held_out(options, *data));
  ModelOptions model = options.model;
  model.weight_decay = options.optim.weight_decay;
  model.is_private = options.optim.noise > 0;
  TRY(auto objective, make_objective<S>(model, options.data, std::move(data)));
  return optim::make_trainer<S>(options.optim, std::move(objective), stable_hash(name),
                                std::move(clock));
}

}  // namespace

void describe_learner(Schema& schema) {
  describe_model(schema);
  describe_data(schema);
  optim::describe(schema);
}

LearnerOptions read_learner_options(Reader& reader) {
  LearnerOptions options;
  options.model = read_model_options(reader);
  options.data = read_data_options(reader);
  if (options.data.split == Split::columns && reader.is_default("model.precision"))
    options.model.precision = Precision::f64;
  const bool wide = options.model.precision == Precision::f64;
  options.optim = optim::read_options(reader, *optim::format_named(wide ? "f64" : "f32"));
  if (options.data.split == Split::columns && reader.is_default("optim.admm-relaxation"))
    options.optim.relaxation = kDualRelaxation;
  options.optim.weighs_steps = options.data.weight == Weight::steps;
  return options;
}

std::vector<Term> agreed(const LearnerOptions& options) {
  ModelOptions model = options.model;
  model.kind = expected_kind(model, options.data);
  std::vector<Term> terms = agreed(model);
  std::ranges::move(agreed(options.data), std::back_inserter(terms));
  std::ranges::move(optim::agreed(options.optim), std::back_inserter(terms));
  return terms;
}

std::string explain_kind(const LearnerOptions& options, const Dataset& train) {
  const ModelOptions& model = options.model;
  if (model.kind != ModelKind::automatic || model.start || !train.is_table() ||
      options.data.split == Split::columns)
    return {};
  const Result<ModelKind> kind = resolve_kind(model, options.data, train);
  return kind ? fmt::format("a linear model (model.kind = {}); model.kind = mlp finds bends too",
                            to_string(*kind))
              : "";
}

Result<std::size_t> model_bytes(const LearnerOptions& options, const Dataset& train) {
  const std::size_t number =
      options.model.precision == Precision::f64 ? sizeof(double) : sizeof(float);
  // Slopes, one a row and class.
  if (options.data.split == Split::columns)
    return number * train.rows * (train.classes > 2 ? train.classes : 1);
  DataOptions data = options.data;
  data.weight = Weight::nodes;  // a survey without the number of samples
  std::vector<std::string> surveys;
  if (train.is_table()) {
    std::vector<std::uint32_t> rows(train.rows);
    std::iota(rows.begin(), rows.end(), std::uint32_t{0});
    surveys.push_back(
        encode(make_survey(train, rows, data.hash_bits, 0, data.target_scale == TargetScale::log)));
  }
  TRY(const ModelCard card, make_card(options.model, data, train, surveys));
  return number * dimension(card.shape);
}

Result<std::unique_ptr<optim::Trainer>> make_trainer(const LearnerOptions& options,
                                                     std::shared_ptr<const Data> data,
                                                     std::string_view name,
                                                     std::function<Time()> clock) {
  if (options.model.precision == Precision::f64)
    return make_typed<double>(options, std::move(data), name, std::move(clock));
  return make_typed<float>(options, std::move(data), name, std::move(clock));
}

std::unique_ptr<optim::Trainer> make_relay(const LearnerOptions& options,
                                           std::function<Time()> clock) {
  if (options.model.precision == Precision::f64)
    return optim::make_relay<double>(options.optim, std::move(clock));
  return optim::make_relay<float>(options.optim, std::move(clock));
}

}  // namespace starling::models
