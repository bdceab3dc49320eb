// OwnFit: what the rows of one node teach by themselves, by linear models in one place: which
// strength of model.l2 suits them. Takes a bounded time: of many rows a sample is fitted.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "models/data/data_options.h"
#include "models/data/dataset.h"
#include "models/data/penalty_trial.h"
#include "models/nets/model_options.h"

namespace starling::models {

// Fits of these rows of a table without one fold of them, for each fold and strength, judged on
// that fold. An mlp is tried as a linear model. Nothing where the rows are too few, or of one
// class, or have too many inputs.
std::optional<PenaltyTrial> try_penalties(const ModelOptions& model, const DataOptions& options,
                                          const Dataset& set, std::span<const std::uint32_t> rows);

}  // namespace starling::models
