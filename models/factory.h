// factory: the objective and the model card that the options of model and data name. To add a
// model: its Objective in models/, its case in models/factory.cpp, its options and its card in
// models/nets/model_options.cpp and model_card.cpp.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "models/data/data_options.h"
#include "models/data/dataset.h"
#include "models/nets/model_card.h"
#include "models/nets/model_options.h"
#include "optim/local/objective.h"

namespace starling::models {

// The kind that auto selects for that data, or the requested kind if it fits the data.
Result<ModelKind> resolve_kind(const ModelOptions& model, const DataOptions& options,
                               const Dataset& train);

// The kind that auto selects, if the options alone determine it; otherwise auto.
ModelKind expected_kind(const ModelOptions& model, const DataOptions& options);

// The options with the kind resolved, and the hidden layers of the initial model; the error says
// why that model does not fit the data.
Result<ModelOptions> resolve(const ModelOptions& model, const DataOptions& options,
                             const Dataset& train);

// Holds no samples until assigned. Several objectives, of several nodes, may share the data.
template <class S>
Result<std::unique_ptr<optim::Objective<S>>> make_objective(const ModelOptions& model,
                                                            const DataOptions& options,
                                                            std::shared_ptr<const Data> data);

// The card of a model with these options on these data, founded on these surveys; no surveys unless
// the data are a table. The error is that of the founding.
Result<ModelCard> make_card(const ModelOptions& model, const DataOptions& options,
                            const Dataset& train, std::span<const std::string> surveys);

}  // namespace starling::models
