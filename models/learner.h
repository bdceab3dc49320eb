// Learner: everything that defines what a node trains and how, from settings to a trainer.
#pragma once

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

// Sections model, data and optim; the caller fills in the seed.
void describe_learner(Schema& schema);
LearnerOptions read_learner_options(Reader& reader);
// The agreed keys and their values; model.kind = auto is resolved if the options alone determine
// it. REQUIRES a chosen algorithm.
std::vector<Term> agreed(const LearnerOptions& options);

// A sentence on the model that auto selects for a table; empty for other data, or another choice.
std::string explain_kind(const LearnerOptions& options, const Dataset& train);

// Bytes of the parameters of a model on these samples; of a table, with the words that are in it;
// of one that is cut by columns, if all its rows are at every site.
Result<std::size_t> model_bytes(const LearnerOptions& options, const Dataset& train);

// The trainer of one node; nodes may share the data. `name` differs by node, so that batches do.
// The error says which model does not fit the data.
Result<std::unique_ptr<optim::Trainer>> make_trainer(const LearnerOptions& options,
                                                     std::shared_ptr<const Data> data,
                                                     std::string_view name,
                                                     std::function<Time()> clock);

// The trainer of a relay, which has no data.
std::unique_ptr<optim::Trainer> make_relay(const LearnerOptions& options,
                                           std::function<Time()> clock);

}  // namespace starling::models
