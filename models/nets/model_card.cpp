#include "models/nets/model_card.h"

#include <algorithm>

#include "models/linear/feature_map.h"

namespace starling::models {

NetworkShape shape_of(const ModelOptions& model, Source source, std::size_t width,
                      std::size_t classes) {
  const bool regresses = classes == 0;
  const bool single = regresses || model.kind == ModelKind::logistic;
  NetworkShape shape;
  shape.sizes.push_back(width);
  if (model.kind == ModelKind::mlp)
    shape.sizes.insert(shape.sizes.end(), model.hidden.begin(), model.hidden.end());
  shape.sizes.push_back(single ? 1 : classes);
  shape.loss = regresses ? Loss::squared : single ? Loss::logistic : Loss::cross_entropy;
  // F_i of the reference has no bias.
  shape.bias = model.kind != ModelKind::linear || source != Source::reference;
  return shape;
}

std::size_t TensorPlace::size() const {
  std::size_t product = 1;
  for (const std::size_t extent : extents) product *= extent;
  return product;
}

std::vector<TensorPlace> tensors(const NetworkShape& shape) {
  std::vector<TensorPlace> places;
  std::size_t offset = 0;
  const auto add = [&](std::string name, std::vector<std::size_t> extents) {
    places.push_back({std::move(name), std::move(extents), offset});
    offset += places.back().size();
  };
  for (std::size_t l = 0; l + 1 < shape.sizes.size(); ++l) {
    add(fmt::format("layer{}.weight", l), {shape.sizes[l], shape.sizes[l + 1]});
    if (shape.bias) add(fmt::format("layer{}.bias", l), {shape.sizes[l + 1]});
  }
  return places;
}

std::size_t dimension(const NetworkShape& shape) {
  const TensorPlace last = tensors(shape).back();
  return last.offset + last.size();
}

Result<Survey> merge_texts(std::span<const std::string> texts) {
  std::vector<Survey> surveys;
  for (const std::string& text : texts) {
    TRY(Survey survey, decode_survey(text));
    surveys.push_back(std::move(survey));
  }
  return merge(surveys);
}

}  // namespace starling::models
