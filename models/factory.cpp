#include "models/factory.h"

#include <algorithm>

#include "models/dual/dual_objective.h"
#include "models/linear/feature_map.h"
#include "models/linear/sparse_logistic.h"
#include "models/linear/weighted_objective.h"
#include "models/nets/network_objective.h"

namespace starling::models {
namespace {

constexpr std::size_t kDenseColumnsLimit = 65'536;  // of sparse rows made dense block by block

bool is_sparse(const Dataset& train) {
  return std::holds_alternative<SparseFeatures>(train.features);
}

// auto selects the first.
std::vector<ModelKind> fitting_kinds(const Dataset& train) {
  if (train.classes == 0) return {ModelKind::linear, ModelKind::mlp};
  std::vector<ModelKind> kinds{ModelKind::softmax, ModelKind::mlp};
  if (!is_sparse(train) && !train.is_table()) std::ranges::reverse(kinds);
  // The number of classes of all nodes together is known only after the founding of a table.
  if (train.classes == 2 || train.is_table())
    kinds.insert(is_sparse(train) ? kinds.begin() : kinds.end(), ModelKind::logistic);
  if (train.image) kinds.push_back(ModelKind::net);
  return kinds;
}

// The initial model must fit the data and be of the requested kind.
Result<void> check_start(const ModelOptions& model, ModelKind kind, const Dataset& train) {
  const ModelCard& card = model.start->card;
  if (card.kind != kind)
    return fail("model.kind = {}: model.from = \"{}\" is of kind {}; expected that, or auto",
                to_string(kind), model.from, to_string(card.kind));
  if (train.is_table() != card.table.has_value() ||
      (!card.table && (card.shape.input != input_of(kind, train) || card.classes != train.classes)))
    return fail(
        "model.from = \"{}\": was trained on other data ({} inputs, {} classes), these have "
        "{} and {}",
        model.from, to_string(card.shape.input), card.classes, to_string(input_of(kind, train)),
        train.classes);
  if (card.table && card.table->classifies != (train.classes > 0))
    return fail("model.from = \"{}\": predicts {} of {}; set data.task to that", model.from,
                card.table->classifies ? "classes" : "amounts", card.table->target);
  return {};
}

template <class S>
Result<std::unique_ptr<optim::Objective<S>>> make_unweighted(const ModelOptions& model,
                                                             const DataOptions& options,
                                                             std::shared_ptr<const Data> data) {
  const Dataset& train = data->train;
  TRY(ModelOptions resolved, resolve(model, options, train));
  const ModelKind kind = resolved.kind;
  if (model.class_weights.is_set() && !train.is_table())
    return fail(
        "model.class-weight = {}: only the classes of a table have weights; expected "
        "data.source = csv, or no weights",
        to_string(model.class_weights));
  TRY_DO(
      check_shape(kind, shape_of(resolved, options.source, input_of(kind, train), train.classes)));
  if (is_sparse(train) && kind == ModelKind::logistic)
    return std::make_unique<SparseLogistic<S>>(model.l2.value_or(0),
                                               Share(std::move(data), options));
  if (is_sparse(train) && train.columns > kDenseColumnsLimit)
    return fail("model.kind = {} on {} sparse columns; expected at most {}, or logistic",
                to_string(kind), train.columns, kDenseColumnsLimit);
  return std::make_unique<NetworkObjective<S>>(std::move(resolved),
                                               Share(std::move(data), options));
}

}  // namespace

Result<ModelKind> resolve_kind(const ModelOptions& model, const DataOptions& options,
                               const Dataset& train) {
  const std::vector<ModelKind> kinds = fitting_kinds(train);
  if (model.kind == ModelKind::external)
    return fail(
        "model.kind = external is what a trainer beside a daemon trains; expected starling run or "
        "up, or another kind");
  const bool is_open = model.kind == ModelKind::automatic;
  if (is_open && !model.start) return kinds.front();
  const ModelKind kind = is_open ? model.start->card.kind : model.kind;
  if (std::ranges::find(kinds, kind) != kinds.end()) return kind;
  std::vector<std::string_view> names{to_string(ModelKind::automatic)};
  for (const ModelKind fitting : kinds) names.push_back(to_string(fitting));
  if (kind == ModelKind::net)
    return fail("model.kind = net learns images, and data.source = {} has none; expected {}",
                to_string(options.source), fmt::join(names, ", "));
  const std::string task =
      train.classes == 0 ? "is regression" : fmt::format("has {} classes", train.classes);
  return fail("model.kind = {} does not fit data.source = {}, which {}; expected {}",
              to_string(kind), to_string(options.source), task, fmt::join(names, ", "));
}

ModelKind expected_kind(const ModelOptions& model, const DataOptions& options) {
  if (model.kind != ModelKind::automatic) return model.kind;
  if (model.start) return model.start->card.kind;
  const Source source = options.source;
  if (source == Source::digits || source == Source::idx) return ModelKind::mlp;
  if (source == Source::houses || source == Source::reference) return ModelKind::linear;
  if (source == Source::libsvm || options.task == Task::automatic) return ModelKind::automatic;
  return options.task == Task::regression ? ModelKind::linear : ModelKind::softmax;
}

Result<ModelOptions> resolve(const ModelOptions& model, const DataOptions& options,
                             const Dataset& train) {
  ModelOptions resolved = model;
  TRY(resolved.kind, resolve_kind(model, options, train));
  if (!model.start) return resolved;
  TRY_DO(check_start(model, resolved.kind, train));
  resolved.layers = model.start->card.shape.layers;
  resolved.layers.pop_back();
  if (resolved.kind == ModelKind::net) return resolved;
  resolved.hidden.clear();
  for (const LayerSpec& layer : resolved.layers) resolved.hidden.push_back(layer.numbers[0]);
  return resolved;
}

template <class S>
Result<std::unique_ptr<optim::Objective<S>>> make_objective(const ModelOptions& model,
                                                            const DataOptions& options,
                                                            std::shared_ptr<const Data> data) {
  if (options.split == Split::columns)
    return std::make_unique<DualObjective<S>>(model, options, std::move(data));
  TRY(auto objective, make_unweighted<S>(model, options, std::move(data)));
  if (options.weight != Weight::samples) return objective;
  return std::make_unique<WeightedObjective<S>>(std::move(objective));
}

template Result<std::unique_ptr<optim::Objective<float>>> make_objective(
    const ModelOptions&, const DataOptions&, std::shared_ptr<const Data>);
template Result<std::unique_ptr<optim::Objective<double>>> make_objective(
    const ModelOptions&, const DataOptions&, std::shared_ptr<const Data>);

Result<ModelCard> make_card(const ModelOptions& model, const DataOptions& options,
                            const Dataset& train, std::span<const std::string> surveys) {
  if (options.split == Split::columns) {
    TRY(const OwnColumns own, OwnColumns::found(model, options, train, surveys));
    return own.card();
  }
  ModelCard card;
  card.source = options.source;
  card.classes = train.classes;
  TRY(const ModelOptions resolved, resolve(model, options, train));
  card.kind = resolved.kind;
  SampleShape input = input_of(card.kind, train);
  if (train.is_table()) {
    std::vector<std::string> texts(surveys.begin(), surveys.end());
    if (options.weight == Weight::samples) {
      TRY(texts, without_weights(surveys));
    }
    TRY(card.table, merge_texts(texts));
    TRY(const FeatureMap map, FeatureMap::found(train, *card.table));
    input = SampleShape(map.width());
    card.classes = card.table->classes.size();
  }
  card.l2 = l2_of(resolved, card.table);
  card.shape = shape_of(resolved, options.source, input, card.classes);
  TRY_DO(check_shape(card.kind, card.shape));
  return card;
}

}  // namespace starling::models
