#include "models/factory.h"

#include <algorithm>

#include "models/network_objective.h"
#include "models/sparse_logistic.h"

namespace starling::models {
namespace {

bool is_sparse(const Dataset& train) {
  return std::holds_alternative<SparseFeatures>(train.features);
}

// The first is what auto stands for.
std::vector<ModelKind> fitting_kinds(const Dataset& train) {
  if (train.classes == 0) return {ModelKind::linear, ModelKind::mlp};
  std::vector<ModelKind> kinds{ModelKind::softmax, ModelKind::mlp};
  if (!is_sparse(train)) std::ranges::reverse(kinds);
  if (train.classes == 2)
    kinds.insert(is_sparse(train) ? kinds.begin() : kinds.end(), ModelKind::logistic);
  return kinds;
}

// As doubles, which cannot overflow; a table's columns are known only once it is founded.
Result<void> check_size(const ModelOptions& model, ModelKind kind, const Dataset& train) {
  const auto outputs = static_cast<double>(std::max<std::size_t>(train.classes, 1));
  auto inputs = static_cast<double>(train.columns);
  double parameters = 0;
  if (kind == ModelKind::mlp)
    for (const std::size_t units : model.hidden) {
      parameters += (inputs + 1) * static_cast<double>(units);
      inputs = static_cast<double>(units);
    }
  parameters += (inputs + 1) * outputs;
  if (parameters > static_cast<double>(kParametersLimit))
    return fail("model.kind = {} has {:.0f} parameters on this data, expected at most {}",
                to_string(kind), parameters, kParametersLimit);
  return {};
}

}  // namespace

Result<ModelKind> resolve_kind(const ModelOptions& model, const DataOptions& options,
                               const Dataset& train) {
  const std::vector<ModelKind> kinds = fitting_kinds(train);
  if (model.kind == ModelKind::automatic) return kinds.front();
  if (std::ranges::find(kinds, model.kind) != kinds.end()) return model.kind;
  std::vector<std::string_view> names{to_string(ModelKind::automatic)};
  for (const ModelKind kind : kinds) names.push_back(to_string(kind));
  const std::string task =
      train.classes == 0 ? "is regression" : fmt::format("has {} classes", train.classes);
  return fail("model.kind = {} does not fit data.source = {}, which {}; expected {}",
              to_string(model.kind), to_string(options.source), task, fmt::join(names, ", "));
}

template <class S>
Result<std::unique_ptr<optim::Objective<S>>> make_objective(const ModelOptions& model,
                                                            const DataOptions& options,
                                                            std::shared_ptr<const Data> data) {
  const Dataset& train = data->train;
  TRY(const ModelKind kind, resolve_kind(model, options, train));
  TRY_DO(check_size(model, kind, train));
  if (is_sparse(train) && kind == ModelKind::logistic)
    return std::make_unique<SparseLogistic<S>>(model.l2, Share(std::move(data), options));
  if (is_sparse(train) && train.columns > kDenseColumnsLimit)
    return fail("model.kind = {} on {} sparse columns; expected at most {}, or logistic",
                to_string(kind), train.columns, kDenseColumnsLimit);
  ModelOptions resolved = model;
  resolved.kind = kind;
  return std::make_unique<NetworkObjective<S>>(std::move(resolved),
                                               Share(std::move(data), options));
}

template Result<std::unique_ptr<optim::Objective<float>>> make_objective(
    const ModelOptions&, const DataOptions&, std::shared_ptr<const Data>);
template Result<std::unique_ptr<optim::Objective<double>>> make_objective(
    const ModelOptions&, const DataOptions&, std::shared_ptr<const Data>);

}  // namespace starling::models
