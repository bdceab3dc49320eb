#include "models/nets/network_shape.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "models/nets/layer_registry.h"

namespace starling::models {
namespace {

Result<SampleShape> fit_layer(const LayerSpec& spec, const SampleShape& in) {
  TRY(const SampleShape out, spec.row->fit(spec, in));
  if (out.size > kLayerNumbersLimit)
    return fail("gives {} numbers for each sample; expected at most {}", out.size,
                kLayerNumbersLimit);
  return out;
}

}  // namespace

bool NetworkShape::is_dense() const {
  return !input.image && std::ranges::all_of(layers, models::is_dense);
}

NetworkShape dense_network(const std::vector<std::size_t>& sizes, Loss loss, bool bias) {
  ENSURE(sizes.size() >= 2, "a network has inputs and outputs");
  NetworkShape shape{.input = SampleShape(sizes[0]), .layers = {}, .loss = loss, .bias = bias};
  for (std::size_t l = 1; l < sizes.size(); ++l) shape.layers.push_back(dense_layer(sizes[l]));
  return shape;
}

std::vector<std::size_t> dense_sizes(const NetworkShape& shape) {
  std::vector<std::size_t> sizes{shape.input.size};
  for (const LayerSpec& layer : shape.layers) sizes.push_back(layer.numbers[0]);
  return sizes;
}

Result<std::vector<LayerPlan>> plan_layers(const NetworkShape& shape) {
  if (shape.layers.empty() || !is_dense(shape.layers.back()))
    return fail("expected a dense layer as the last");
  if (!shape.bias && shape.layers.size() > 1) return fail("only a linear model may lack a bias");
  std::vector<LayerPlan> plans;
  SampleShape in = shape.input;
  for (const LayerSpec& spec : shape.layers) {
    auto out = fit_layer(spec, in);
    if (!out) return fail("{} (layer {}) {}", to_string(spec), plans.size() + 1, out.error().text);
    const bool is_last = plans.size() + 1 == shape.layers.size();
    LayerPlan plan{.spec = spec, .in = in, .out = *out, .bias = shape.bias};
    plan.relu = spec.row->relu == Relu::own && !is_last;
    if (spec.row->relu == Relu::takes && !plans.empty()) std::swap(plan.relu, plans.back().relu);
    plans.push_back(plan);
    in = *out;
  }
  return plans;
}

std::string to_string(const SampleShape& shape) {
  if (!shape.image) return fmt::format("{}", shape.size);
  return fmt::format("{}x{}x{}", shape.image->height, shape.image->width, shape.image->channels);
}

std::string to_string(const NetworkShape& shape) {
  if (shape.is_dense()) return fmt::format("{}", fmt::join(dense_sizes(shape), "-"));
  std::string text = to_string(shape.input);
  for (const LayerSpec& layer : shape.layers) text += "," + to_string(layer);
  return text;
}

std::vector<optim::ParameterBlock> tensors(const NetworkShape& shape) {
  const auto plans = plan_layers(shape);
  ENSURE(plans, "a network's layers fit");
  std::vector<optim::ParameterBlock> blocks;
  for (std::size_t l = 0; l < plans->size(); ++l)
    for (LayerTensor& tensor : (*plans)[l].spec.row->tensors((*plans)[l]))
      blocks.push_back({fmt::format("layer{}.{}", l, tensor.name), std::move(tensor.extents),
                        optim::dimension_of(blocks)});
  return blocks;
}

std::size_t dimension(const NetworkShape& shape) {
  return optim::dimension_of(tensors(shape));
}

}  // namespace starling::models
