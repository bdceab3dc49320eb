// ModelCard: the meaning of a model's parameters; both together can predict.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "models/data/data_options.h"
#include "models/data/survey.h"
#include "models/nets/model_options.h"
#include "models/nets/network.h"
#include "optim/local/blocks.h"

namespace starling::models {

struct ModelCard {
  ModelKind kind = ModelKind::linear;
  NetworkShape shape;
  Source source = Source::csv;
  std::size_t classes = 0;      // 0 for regression
  std::optional<Survey> table;  // of a table: its features, target and classes
};

// A model that exists: its parameters are shape's, in the order of Network.
struct TrainedModel {
  ModelCard card;
  std::vector<double> parameters;
};

// The shape for a kind, not auto, and features of that width; 0 classes for regression.
NetworkShape shape_of(const ModelOptions& model, Source source, std::size_t width,
                      std::size_t classes);

// Numbers in x.
std::size_t dimension(const NetworkShape& shape);

// "layer0.weight", "layer0.bias", "layer1.weight", …
std::vector<optim::ParameterBlock> tensors(const NetworkShape& shape);

// Merges the surveys of all founders, in text form.
Result<Survey> merge_texts(std::span<const std::string> surveys);

}  // namespace starling::models
