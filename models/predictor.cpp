#include "models/predictor.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.h"
#include "models/linear/feature_map.h"
#include "models/nets/network.h"

namespace starling::models {
namespace {

constexpr std::size_t kBlockRows = 256;

// Describes words that no founder saw.
std::vector<std::string> unknown_words(const Dataset& set, const FeatureMap& map) {
  std::vector<std::string> notes;
  const auto& table = std::get<TableFeatures>(set.features);
  for (const auto& column : table.columns) {
    if (column.kind != ColumnKind::words) continue;
    const auto& places = map.places(column.slot);
    std::size_t count = 0;
    std::string first;
    for (std::size_t row = 0; row < set.rows; ++row) {
      const std::uint32_t code = table.codes[row * table.words.size() + column.slot];
      if (places[code] == FeatureMap::kUnknown && count++ == 0)
        first = table.words[column.slot][code];
    }
    if (count > 0)
      notes.push_back(fmt::format("column {}: {} rows hold {}, which the model has not seen{}",
                                  column.name, with_commas(count),
                                  first.empty() ? "nothing" : fmt::format("\"{}\"", first),
                                  count > 1 ? ", or another such word" : ""));
  }
  return notes;
}

}  // namespace

Result<Predictor> Predictor::make(TrainedModel model) {
  if (!model.card.table)
    return fail(
        "the model was trained on data.source = {}, and only those trained on tables (csv) "
        "can predict here",
        to_string(model.card.source));
  const std::size_t expected = dimension(model.card.shape);
  if (model.parameters.size() != expected)
    return fail("the model has {} parameters, expected {}", model.parameters.size(), expected);
  return Predictor(std::move(model));
}

TableLayout Predictor::layout(bool with_target) const {
  TableLayout layout;
  for (const ColumnSurvey& column : table().columns)
    layout.columns.push_back({column.name, column.kind});
  layout.decimal_comma = table().decimal_comma;
  layout.missing = table().missing;
  if (with_target) layout.target = table().target;
  layout.classifies = table().classifies;
  return layout;
}

Result<Predictions> Predictor::predict(const Dataset& set) const {
  TRY(const FeatureMap map, FeatureMap::found(set, table()));
  if (map.width() != model_.card.shape.input.size)
    return fail("the model takes {} features, and its columns make {}",
                model_.card.shape.input.size, map.width());
  Predictions predictions;
  predictions.notes = unknown_words(set, map);
  Network<double> network(model_.card.shape);
  std::vector<std::uint32_t> rows;
  std::vector<double> inputs(kBlockRows * map.width());
  for (std::size_t start = 0; start < set.rows; start += rows.size()) {
    rows.resize(std::min(kBlockRows, set.rows - start));
    std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(start));
    map.gather(set, rows, inputs.data());
    const Block<double> block{.rows = rows.size(), .inputs = inputs.data(), .truth = {}};
    decide(network.outputs(model_.parameters, block).data(), rows.size(), predictions);
  }
  predictions.rows = set.rows;
  if (!table().classifies)
    for (double& amount : predictions.amounts)
      amount = map.target_mean() + map.target_unit() * amount;
  return predictions;
}

// The predictions of one block; amounts in the model's scale.
void Predictor::decide(const double* outputs, std::size_t rows, Predictions& predictions) const {
  const std::size_t count = model_.card.shape.outputs();
  if (!table().classifies) {
    predictions.amounts.insert(predictions.amounts.end(), outputs, outputs + rows);
    return;
  }
  for (std::size_t r = 0; r < rows; ++r, outputs += count) {
    std::vector<double> z(outputs, outputs + count);
    // A single output is that of class 1; that of class 0 is 0.
    if (count == 1) z.insert(z.begin(), 0.0);
    const auto likeliest = std::ranges::max_element(z);
    const double largest = *likeliest;
    predictions.likeliest.push_back(static_cast<std::uint32_t>(likeliest - z.begin()));
    double sum = 0;
    for (double& value : z) sum += value = std::exp(value - largest);
    for (const double value : z) predictions.probabilities.push_back(value / sum);
  }
}

}  // namespace starling::models
