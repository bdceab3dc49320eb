// predict_json: a model's predictions for rows in JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "base/result.h"
#include "models/predictor.h"

namespace starling::daemon {

inline constexpr std::size_t kPredictRowsLimit = 10'000;  // of one request

// From {"rows": [{"column": value, ...}, ...]} to {"predictions": [...], "notes": [...]}, where a
// value is a number, a text, or null for one that is missing. A prediction is {"prediction":
// number} or {"prediction": "class", "probabilities": {"class": number, ...}}.
Result<nlohmann::ordered_json> predict_json(models::TrainedModel model, const nlohmann::json& body);

// The predictions of any table, of these classes; with the rows' keys, if there are any, each with
// that of its row.
nlohmann::ordered_json predictions_json(std::span<const std::string> classes,
                                        const models::Predictions& predictions,
                                        std::span<const std::string> keys = {});

}  // namespace starling::daemon
