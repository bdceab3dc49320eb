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

std::vector<optim::ParameterBlock> tensors(const NetworkShape& shape) {
  std::vector<optim::ParameterBlock> blocks;
  const auto add = [&](std::string name, std::vector<std::size_t> extents) {
    blocks.push_back({std::move(name), std::move(extents), optim::dimension_of(blocks)});
  };
  for (std::size_t l = 0; l + 1 < shape.sizes.size(); ++l) {
    add(fmt::format("layer{}.weight", l), {shape.sizes[l], shape.sizes[l + 1]});
    if (shape.bias) add(fmt::format("layer{}.bias", l), {shape.sizes[l + 1]});
  }
  return blocks;
}

std::size_t dimension(const NetworkShape& shape) {
  return optim::dimension_of(tensors(shape));
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
