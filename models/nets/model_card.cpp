#include "models/nets/model_card.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "models/nets/layer_registry.h"

namespace starling::models {

namespace {

double strength_of(const Survey& table) {
  return table.trial.value_or(PenaltyTrial{}).best(PenaltyTrial::strengths(table.classifies));
}

}  // namespace

double l2_of(const ModelOptions& model, const std::optional<Survey>& table) {
  if (model.l2) return *model.l2;
  return table && table->rows > 0 ? strength_of(*table) / table->rows : 0;
}

std::string explain_l2(const Survey& table) {
  const std::string ratio = fmt::format("{:g} / {} rows", strength_of(table),
                                        with_commas(static_cast<std::uint64_t>(table.rows)));
  if (!table.trial || table.trial->rows == 0)
    return ratio + ", because no founder told which strength suits its rows";
  return fmt::format(
      "{}, of {:g} / rows the one with the least loss on {} rows that fits at the founders left "
      "out",
      ratio, fmt::join(PenaltyTrial::strengths(table.classifies), ", "),
      with_commas(static_cast<std::uint64_t>(table.trial->rows)));
}

NetworkShape shape_of(const ModelOptions& model, Source source, const SampleShape& input,
                      std::size_t classes) {
  const bool regresses = classes == 0;
  const bool single = regresses || model.kind == ModelKind::logistic;
  NetworkShape shape;
  shape.input = input;
  if (model.kind == ModelKind::net) shape.layers = model.layers;
  if (model.kind == ModelKind::mlp)
    std::ranges::transform(model.hidden, std::back_inserter(shape.layers), dense_layer);
  shape.layers.push_back(dense_layer(single ? 1 : std::max<std::size_t>(classes, 1)));
  shape.loss = regresses ? Loss::squared : single ? Loss::logistic : Loss::cross_entropy;
  // F_i of the reference has no bias.
  shape.bias = model.kind != ModelKind::linear || source != Source::reference;
  return shape;
}

SampleShape input_of(ModelKind kind, const Dataset& set) {
  const bool is_image = kind == ModelKind::net && set.image;
  return is_image ? SampleShape(*set.image) : SampleShape(set.columns);
}

Result<void> check_shape(ModelKind kind, const NetworkShape& shape) {
  if (const auto plans = plan_layers(shape); !plans)
    return fail("model.layers: {}", plans.error().text);
  if (const std::size_t parameters = dimension(shape); parameters > kParametersLimit)
    return fail("model.kind = {} has {} parameters on this data, expected at most {}",
                to_string(kind), parameters, kParametersLimit);
  return {};
}

Result<std::vector<Survey>> decode_surveys(std::span<const std::string> texts) {
  std::vector<Survey> surveys;
  for (const std::string& text : texts) {
    TRY(Survey survey, decode_survey(text));
    surveys.push_back(std::move(survey));
  }
  return surveys;
}

Result<Survey> merge_texts(std::span<const std::string> texts) {
  TRY(const std::vector<Survey> surveys, decode_surveys(texts));
  return merge(surveys);
}

}  // namespace starling::models
