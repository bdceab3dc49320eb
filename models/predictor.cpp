#include "models/predictor.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "base/text.h"
#include "models/linear/feature_map.h"
#include "models/nets/network.h"

namespace starling::models {
namespace {

constexpr std::size_t kPredictedRows = 256;

// Describes words that no founder saw.
std::vector<std::string> unknown_words(const Dataset& set, const FeatureMap& map) {
  std::vector<std::string> notes;
  if (!set.is_table()) return notes;
  const auto& table = std::get<TableFeatures>(set.features);
  for (const auto& column : table.columns) {
    if (column.content != Content::words || map.places(column.slot).empty()) continue;
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
  const std::size_t expected = dimension(model.card.shape);
  if (model.parameters.size() != expected)
    return fail("the model has {} parameters, expected {}", model.parameters.size(), expected);
  const NetworkShape& shape = model.card.shape;
  const std::size_t classes = shape.classes();
  const std::size_t named =
      model.card.table ? model.card.table->classes.size() : model.card.classes;
  if (named != classes)
    return fail("the model has {} outputs, and {} classes, expected {}", shape.outputs(), named,
                classes);
  return Predictor(std::move(model));
}

Predictor::Predictor(TrainedModel model) : model_(std::move(model)) {
  if (card().table)
    classes_ = card().table->classes;
  else
    for (std::size_t c = 0; c < card().classes; ++c) classes_.push_back(fmt::to_string(c));
}

TableLayout Predictor::layout(bool with_target) const {
  const Survey& table = *card().table;
  TableLayout layout;
  for (const ColumnSurvey& column : table.columns)
    if (column.of.empty())
      layout.columns.push_back(
          {column.name,
           column.form.kind ? column.form : plain_form(column.content, table.decimal_comma)});
  layout.target_form = table.target_form;
  layout.decimal_comma = table.decimal_comma;
  layout.missing = table.missing;
  layout.missing_cells = table.missing_cells;
  layout.folds_case = table.folds_case;
  if (with_target) layout.target = table.target;
  layout.classifies = table.classifies;
  return layout;
}

Result<FeatureMap> Predictor::map_of(const Dataset& set) const {
  const SampleShape& input = card().shape.input;
  if (set.is_table() != card().table.has_value())
    return fail("the model was trained on data.source = {}", to_string(card().source));
  if (card().table) return FeatureMap::found(set, *card().table);
  if (const SampleShape seen = input_of(card().kind, set); seen != input)
    return fail("the model takes {} numbers a row, and the data have {}", to_string(input),
                to_string(seen));
  return FeatureMap(set);
}

OutputForm Predictor::form() const {
  OutputForm form{.outputs = card().shape.outputs(), .classes = classes_};
  if (!classes_.empty() || !card().table) return form;
  const double deviation = card().table->amounts.deviation();
  form.mean = card().table->amounts.mean;
  form.unit = deviation > 0 ? deviation : 1;
  form.is_log = card().table->is_log;
  return form;
}

Result<Predictor::Outputs> Predictor::outputs(const Dataset& set) const {
  TRY(const FeatureMap map, map_of(set));
  if (map.width() != card().shape.input.size)
    return fail("the model takes {} features, and its columns make {}", card().shape.input.size,
                map.width());
  Outputs outputs{.notes = unknown_words(set, map)};
  Network<double> network(model_.card.shape);
  std::vector<std::uint32_t> rows;
  std::vector<double> inputs(kPredictedRows * map.width());
  for (std::size_t start = 0; start < set.rows; start += rows.size()) {
    rows.resize(std::min(kPredictedRows, set.rows - start));
    std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(start));
    map.gather(set, rows, inputs.data());
    const Block<double> block{.rows = rows.size(), .inputs = inputs.data(), .truth = {}};
    std::ranges::copy(network.outputs(model_.parameters, block),
                      std::back_inserter(outputs.numbers));
  }
  return outputs;
}

Result<Predictions> Predictor::predict(const Dataset& set) const {
  if (const auto& part = card().part)
    return fail(
        "the model is of the columns of {} alone, of {}; starling predict --fleet asks all sites, "
        "or --partial writes its scores, which --add adds up",
        part->site, fmt::join(part->sites, ", "));
  TRY(Outputs outputs, this->outputs(set));
  Predictions predictions = form().read(outputs.numbers);
  predictions.notes = std::move(outputs.notes);
  return predictions;
}

Predictions OutputForm::read(std::span<const double> numbers) const {
  Predictions predictions;
  predictions.rows = numbers.size() / outputs;
  for (std::size_t first = 0; first < numbers.size(); first += outputs) {
    if (classes.empty()) {
      const double scaled = mean + unit * numbers[first];
      predictions.amounts.push_back(is_log ? std::exp(scaled) : scaled);
      continue;
    }
    const auto row = numbers.subspan(first, outputs);
    std::vector<double> z(row.begin(), row.end());
    // A single output is that of class 1; that of class 0 is 0.
    if (outputs == 1) z.insert(z.begin(), 0.0);
    const auto likeliest = std::ranges::max_element(z);
    const double largest = *likeliest;
    predictions.likeliest.push_back(static_cast<std::uint32_t>(likeliest - z.begin()));
    double sum = 0;
    for (double& value : z) sum += value = std::exp(value - largest);
    for (const double value : z) predictions.probabilities.push_back(value / sum);
  }
  return predictions;
}

}  // namespace starling::models
