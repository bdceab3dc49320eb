#include "models/model_card.h"

#include <algorithm>

#include "models/factory.h"
#include "models/feature_map.h"
#include "models/weighted_objective.h"

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

Result<ModelCard> make_card(const ModelOptions& model, const DataOptions& options,
                            const Dataset& train, std::span<const std::string> surveys) {
  ModelCard card;
  card.source = options.source;
  card.classes = train.classes;
  TRY(const ModelOptions resolved, resolve(model, options, train));
  card.kind = resolved.kind;
  std::size_t width = train.columns;
  if (std::holds_alternative<TableFeatures>(train.features)) {
    std::vector<std::string> texts(surveys.begin(), surveys.end());
    if (options.weight == Weight::samples) {
      TRY(texts, without_weights(surveys));
    }
    TRY(card.table, merge_texts(texts));
    TRY(const FeatureMap map, FeatureMap::found(train, *card.table));
    width = map.width();
    card.classes = card.table->classes.size();
  }
  card.shape = shape_of(resolved, options.source, width, card.classes);
  return card;
}

}  // namespace starling::models
