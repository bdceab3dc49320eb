// OwnFit: what the rows of one node teach by themselves, by linear models in one place: which
// strength of model.l2 suits them, and how good a model of them alone is. Takes a bounded time: of
// many rows a sample is fitted.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "models/data/data_options.h"
#include "models/data/dataset.h"
#include "models/data/penalty_trial.h"
#include "models/nets/model_options.h"
#include "optim/local/local_data.h"

namespace starling::models {

struct OwnFit {
  // Of fits without one fold of the rows, for each fold and strength, judged on that fold. Nothing
  // with a model.l2.
  std::optional<PenaltyTrial> trial = {};
  // Of a fit of all of them, with the strength that suits them best or with model.l2. Nothing
  // without held-out rows.
  std::optional<optim::Evaluation> alone = {};
};

// Of these rows of a table. An mlp is fitted as a linear model. Empty where the rows are too few,
// or of one class, or have too many inputs. REQUIRES sets with the same words and labels.
OwnFit fit_own_rows(const ModelOptions& model, const DataOptions& options, const Dataset& set,
                    std::span<const std::uint32_t> rows, const Dataset& held_out);

}  // namespace starling::models
