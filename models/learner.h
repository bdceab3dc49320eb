// Learner: everything that decides what a node trains and how, from settings to a trainer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "models/data/data_options.h"
#include "models/data/dataset.h"
#include "models/nets/model_options.h"
#include "optim/trainer.h"

namespace starling::models {

struct LearnerOptions {
  ModelOptions model;
  DataOptions data;
  optim::Options optim;
};

// Sections model, data and optim; the seed is the caller's to fill in.
void describe_learner(Schema& schema);
LearnerOptions read_learner_options(Reader& reader);
// The agreed keys and these values of them; model.kind = auto is what it stands for, where that can
// be told before the data are read. REQUIRES an algorithm that is chosen.
std::vector<Term> agreed(const LearnerOptions& options);

// The trainer of one node; nodes may share the data. `name` tells nodes apart, so that their
// batches differ. An error says which model does not fit the data.
Result<std::unique_ptr<optim::Trainer>> make_trainer(const LearnerOptions& options,
                                                     std::shared_ptr<const Data> data,
                                                     std::string_view name,
                                                     std::function<Time()> clock);

}  // namespace starling::models
