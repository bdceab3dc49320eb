// NetworkShape: everything that defines a network but its parameters.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "models/linear/loss.h"
#include "models/nets/layer.h"
#include "optim/local/blocks.h"

namespace starling::models {

inline constexpr std::size_t kParametersLimit = std::size_t{1} << 30;
inline constexpr std::size_t kLayerNumbersLimit = std::size_t{1} << 22;  // of a layer, for a sample

struct NetworkShape {
  SampleShape input;
  std::vector<LayerSpec> layers;  // at least one; the last is dense and gives the outputs
  Loss loss = Loss::squared;
  bool bias = true;  // only a network of one layer may lack it

  std::size_t outputs() const { return layers.back().numbers[0]; }
  // 0 for regression.
  std::size_t classes() const {
    return loss == Loss::squared ? 0 : std::max<std::size_t>(outputs(), 2);
  }
  // Whether it has fully connected layers alone, and inputs without an order.
  bool is_dense() const;
  bool operator==(const NetworkShape&) const = default;
};

// Of fully connected layers: inputs, hidden layers, outputs. REQUIRES at least two sizes.
NetworkShape dense_network(const std::vector<std::size_t>& sizes, Loss loss = Loss::squared,
                           bool bias = true);
// The same back: the size of the inputs, and of the outputs of each layer. REQUIRES is_dense().
std::vector<std::size_t> dense_sizes(const NetworkShape& shape);

// The layers in their places. The error names the first that does not fit:
// "conv:32:5 (layer 3) gets images of 4 x 4; expected at least 5 x 5".
Result<std::vector<LayerPlan>> plan_layers(const NetworkShape& shape);

// "784", or "28x28x1".
std::string to_string(const SampleShape& shape);
// "784-64-10", or "28x28x1,conv:16:5,pool:2,dense:10".
std::string to_string(const NetworkShape& shape);

// Layers count from 0, also those without a tensor: "layer0.weight", "layer0.bias",
// "layer1.weight", … REQUIRES a shape that has a plan.
std::vector<optim::ParameterBlock> tensors(const NetworkShape& shape);
// Numbers in x. REQUIRES the same.
std::size_t dimension(const NetworkShape& shape);

}  // namespace starling::models
