// Layer: one step of a network, from the values of a block of samples to the next values.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "models/data/dataset.h"

namespace starling::models {

struct LayerRow;  // models/nets/layer_registry.h

// What a layer gets or gives for one sample: numbers, which are those of an image or have no order.
struct SampleShape {
  std::size_t size = 0;
  std::optional<ImageShape> image = {};

  SampleShape() = default;
  explicit SampleShape(std::size_t numbers) : size(numbers) {}
  explicit SampleShape(ImageShape of) : size(of.size()), image(of) {}
  bool operator==(const SampleShape&) const = default;
};

// A layer as a user names it: conv:16:5 is the row of conv with 16 and 5.
struct LayerSpec {
  const LayerRow* row = nullptr;
  std::array<std::size_t, 2> numbers{};

  bool operator==(const LayerSpec&) const = default;
};

// A layer in its place in a network.
struct LayerPlan {
  LayerSpec spec;
  SampleShape in, out;
  bool relu = false;  // negative outputs become 0
  bool bias = true;
};

// Parameters of a layer with a meaning of their own.
struct LayerTensor {
  std::string_view name;
  std::vector<std::size_t> extents;  // row-major
  // Of weights: how many inputs an output has. They are drawn, and penalised. 0: not weights.
  std::size_t fan_in = 0;
  double initial = 0;  // of all other parameters
};

enum class Mode { training, evaluation };

// Values are row-major: a row is a sample, its image channels last.
template <class S>
struct Pass {
  const S* parameters = nullptr;  // of the layer
  std::size_t rows = 0;
  const S* inputs = nullptr;
  S* outputs = nullptr;
};

template <class S>
struct Derivatives {
  S* outputs = nullptr;     // of the loss, by the layer's outputs; may be overwritten
  S* inputs = nullptr;      // the same by its inputs, to be written; null: nothing needs them
  S* parameters = nullptr;  // the same by its parameters, to be added to
  bool first = false;       // overwrite `parameters` instead
  // In place of `parameters`: squares[r] += the squared norm of the derivative of row r alone by
  // the layer's parameters.
  double* squares = nullptr;
  S share = 1;  // of the rows of the whole batch, that these are
};

template <class S>
class Layer {
 public:
  virtual ~Layer() = default;

  virtual void forward(const Pass<S>& pass, Mode mode) = 0;
  // For the pass of the last forward(), which was in training.
  virtual void backward(const Pass<S>& pass, const Derivatives<S>& derivatives) = 0;
};

}  // namespace starling::models
