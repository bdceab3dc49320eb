// ModelOptions: section `model` of the settings, read and checked.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings.h"
#include "models/nets/class_weights.h"
#include "models/nets/layer.h"

namespace starling::models {

// `external`: the user's own trainer beside the daemon, unknown to this layer.
enum class ModelKind { automatic, linear, logistic, softmax, mlp, net, external };
enum class Precision { f32, f64 };

struct TrainedModel;

// Two convolutions with pooling, for images of 16 x 16 and more.
std::vector<LayerSpec> usual_layers();

struct ModelOptions {
  ModelKind kind = ModelKind::automatic;
  std::vector<std::size_t> hidden{64};             // of mlp
  std::vector<LayerSpec> layers = usual_layers();  // of net, without the output layer
  // Nothing: auto. For a table, found from the surveys of all founders; else 0.
  std::optional<double> l2 = 0;
  // With optim.noise only steps may tell of rows: no trials of l2.
  bool is_private = false;
  // lambda of optim.weight-decay. Local steps add it, and the loss leaves it out, but it moves the
  // optimum.
  double weight_decay = 0;
  ClassWeights class_weights = {};
  Precision precision = Precision::f32;
  std::string from = {};  // the file of a model to start from; empty: none
  std::shared_ptr<const TrainedModel> start = nullptr;  // its contents
};

void describe_model(Schema& schema);
ModelOptions read_model_options(Reader& reader);
// The agreed keys and their values; of the initial model, its contents.
std::vector<Term> agreed(const ModelOptions& options);

// As a user writes it: "auto", "mlp".
std::string_view to_string(ModelKind kind);

}  // namespace starling::models
