// Registry of layers: one row for each kind of layer that model.layers may name. The settings, the
// shapes, the files of models and the network read the row and name no layer. To add a layer of a
// net: a file in models/nets/layers/, its name in rows.h, a row in models/nets/layer_registry.cpp,
// a line in docs/use-model.md.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "models/nets/layer.h"

namespace starling::models {

struct LayerNumber {
  std::string_view name;  // "KERNEL"
  std::size_t most = 0;   // the least is 1
};

template <class S>
using MakeLayer = std::unique_ptr<Layer<S>> (*)(const LayerPlan& plan);
struct LayerMaker {
  MakeLayer<float> in_single;
  MakeLayer<double> in_double;
};

// What a layer has to do with the relu after it.
enum class Relu {
  none,
  own,    // it has one, unless it is the last layer
  takes,  // that of the layer before it comes after it
};

struct LayerRow {
  std::string_view name;
  std::string_view help;
  std::vector<LayerNumber> numbers;  // as many as LayerSpec has, or fewer
  Relu relu = Relu::none;
  // Some of its parameters are measured, not learnt: their derivative is their distance to what was
  // measured, and plain steps make them a running mean.
  bool keeps_statistics = false;
  // The shape of its outputs. The error says what inputs it got and what it expects:
  // "gets images of 4 x 4; expected at least 5 x 5".
  Result<SampleShape> (*fit)(const LayerSpec& spec, const SampleShape& in) = nullptr;
  // In the order in which they lie in the parameters.
  std::vector<LayerTensor> (*tensors)(const LayerPlan& plan) = nullptr;
  LayerMaker make = {};
};

// In the order of display. Rows are static; compare them by address.
std::span<const LayerRow> layer_rows();

// "conv:CHANNELS:KERNEL".
std::string form_of(const LayerRow& row);
std::string to_string(const LayerSpec& spec);

inline constexpr std::size_t kLayersLimit = 32;  // without the output layer
// One layer a text. The error says which is wrong, and what is allowed.
Result<std::vector<LayerSpec>> parse_layers(std::span<const std::string> texts);
LayerSpec dense_layer(std::size_t units);
bool is_dense(const LayerSpec& spec);

}  // namespace starling::models
