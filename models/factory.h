// factory: the objective that the options of model and data name.
#pragma once

#include <memory>

#include "base/result.h"
#include "models/data_options.h"
#include "models/dataset.h"
#include "models/model_options.h"
#include "optim/objective.h"

namespace starling::models {

inline constexpr std::size_t kParametersLimit = std::size_t{1} << 30;
inline constexpr std::size_t kDenseColumnsLimit =
    65'536;  // of sparse rows made dense block by block

// What auto stands for on that data, or the kind asked for if it fits the data.
Result<ModelKind> resolve_kind(const ModelOptions& model, const DataOptions& options,
                               const Dataset& train);

// The options with the kind resolved, and the hidden layers of the model that training starts from;
// an error says why that model does not fit the data.
Result<ModelOptions> resolve(const ModelOptions& model, const DataOptions& options,
                             const Dataset& train);

// Whether a model of that kind on features of that width is of a size that a node may hold; 0
// classes for regression.
Result<void> check_size(const ModelOptions& model, std::size_t width, std::size_t classes);

// Holds no samples until assigned. Several objectives, of several nodes, may share the data.
template <class S>
Result<std::unique_ptr<optim::Objective<S>>> make_objective(const ModelOptions& model,
                                                            const DataOptions& options,
                                                            std::shared_ptr<const Data> data);

}  // namespace starling::models
