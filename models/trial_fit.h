// trial_fit: which kind of model suits a table, by short fits of each in one place.
#pragma once

#include <memory>
#include <string>

#include "models/data/dataset.h"
#include "models/learner.h"

namespace starling::models {

// "in 1,000 steps in one place: linear 1106, mlp 562, the mean 2310 (…)": the error on the held-out
// rows after a short fit of either kind, and without a model. Empty without held-out rows, for data
// that are no table, and for models that would take more than seconds. `options` gives all but the
// kind and the optimizer.
std::string trial_fits(LearnerOptions options, std::shared_ptr<const Data> data);

}  // namespace starling::models
