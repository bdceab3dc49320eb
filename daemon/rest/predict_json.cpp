#include "daemon/rest/predict_json.h"

#include <fmt/format.h>

#include "models/data/table_builder.h"

namespace starling::daemon {
namespace {

using nlohmann::json;
using ordered = nlohmann::ordered_json;

// A number whose point is no mark of groups, whatever the table's files have.
std::string number_text(double value, bool has_numbers) {
  std::string text = fmt::to_string(value);
  if (has_numbers && text.find('.') != std::string::npos && text.find('e') == std::string::npos)
    text += "e0";
  return text;
}

// The cell as in a file.
Result<models::Cell> cell_of(const json& value, const models::TableLayout::Column& column) {
  if (value.is_null()) return models::Cell();
  if (value.is_string()) return models::Cell{value.get<std::string>()};
  if (value.is_number())
    return models::Cell{number_text(value.get<double>(), column.form.has_numbers())};
  if (value.is_boolean()) return models::Cell{value.get<bool>() ? "true" : "false"};
  return fail("column {}: expected a number, a text, true, false or null", column.name);
}

Result<std::vector<models::Cell>> cells_of(const json& row, const models::TableLayout& layout) {
  if (!row.is_object()) return fail("expected an object of columns");
  std::vector<models::Cell> cells;
  for (const auto& column : layout.columns) {
    const auto found = row.find(column.name);
    if (found == row.end())
      return fail("has no column {}; null says that its value is missing", column.name);
    TRY(models::Cell cell, cell_of(*found, column));
    cells.push_back(std::move(cell));
  }
  return cells;
}

}  // namespace

ordered predictions_json(std::span<const std::string> classes,
                         const models::Predictions& predictions,
                         std::span<const std::string> keys) {
  ordered list = ordered::array();
  for (std::size_t row = 0; row < predictions.rows; ++row) {
    ordered entry = ordered::object();
    if (!keys.empty()) entry["key"] = keys[row];
    if (classes.empty()) {
      entry["prediction"] = predictions.amounts[row];
    } else {
      ordered probabilities;
      for (std::size_t c = 0; c < classes.size(); ++c)
        probabilities[classes[c]] = predictions.probabilities[row * classes.size() + c];
      entry["prediction"] = classes[predictions.likeliest[row]];
      entry["probabilities"] = std::move(probabilities);
    }
    if (!predictions.spread.empty()) entry["spread"] = predictions.spread[row];
    list.push_back(std::move(entry));
  }
  return {{"predictions", std::move(list)}, {"notes", predictions.notes}};
}

Result<ordered> predict_json(models::TrainedModel model, const json& body) {
  TRY(const models::Predictor predictor, models::Predictor::make(std::move(model)));
  if (!predictor.card().table)
    return fail(
        "the model was trained on data.source = {}; expected one of a table (csv). starling "
        "predict answers files of other data",
        models::to_string(predictor.card().source));
  const auto rows = body.is_object() ? body.find("rows") : body.end();
  if (rows == body.end() || !rows->is_array())
    return fail("expected {{\"rows\": [{{\"COLUMN\": VALUE, ...}}, ...]}}");
  if (rows->size() > kPredictRowsLimit)
    return fail("{} rows, expected at most {}", rows->size(), kPredictRowsLimit);
  models::TableBuilder builder(predictor.layout(false));
  models::Dataset set;
  for (std::size_t row = 0; row < rows->size(); ++row) {
    const auto cells = cells_of((*rows)[row], builder.layout());
    const Result<void> added =
        cells ? builder.add(*cells, set) : Result<void>(tl::unexpected(cells.error()));
    if (!added) return fail("row {}: {}", row, added.error().text);
  }
  builder.finish(set);
  TRY(const models::Predictions predictions, predictor.predict(set));
  return predictions_json(predictor.classes(), predictions);
}

}  // namespace starling::daemon
