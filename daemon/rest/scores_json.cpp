#include "daemon/rest/scores_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/salted_hash.h"
#include "base/text.h"
#include "models/data/csv.h"
#include "models/data/row_match.h"

namespace starling::daemon {
namespace {

using nlohmann::json;
using ordered = nlohmann::ordered_json;

std::string hashed(const std::string& key, const std::string& salt) {
  return fmt::format("{:016x}", salted_hash(salt, key));
}

bool are_finite(std::span<const double> numbers) {
  return std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); });
}

ordered form_json(const models::OutputForm& form) {
  if (!form.classes.empty()) return {{"classes", form.classes}};
  return {{"mean", form.mean}, {"unit", form.unit}, {"log", form.is_log}};
}

models::OutputForm take_form(const json& document, std::size_t outputs) {
  models::OutputForm form{.outputs = outputs};
  if (document.contains("classes")) {
    form.classes = document["classes"].get<std::vector<std::string>>();
  } else {
    form.mean = document.at("mean").get<double>();
    form.unit = document.at("unit").get<double>();
    form.is_log = document.at("log").get<bool>();
  }
  return form;
}

// What differs from the documented form throws json::exception.
Result<SiteAnswer> take_answer(const json& document, std::span<const std::string> keys) {
  SiteAnswer answer;
  answer.scores.site = document.at("site").get<std::string>();
  answer.scores.key = document.at("key").get<std::string>();
  answer.scores.outputs = document.at("outputs").get<std::size_t>();
  answer.scores.mean = document.at("mean").get<std::vector<double>>();
  answer.sites = document.at("sites").get<std::vector<std::string>>();
  const json& rows = document.at("scores");
  const std::size_t outputs = answer.scores.outputs;
  if (answer.scores.mean.size() != outputs || !are_finite(answer.scores.mean))
    return fail("its mean scores are not {} finite numbers", outputs);
  if (!rows.is_array() || rows.size() != keys.size() || outputs == 0 ||
      outputs > models::kClassesLimit)
    return fail("it holds {} scores of {} numbers, expected {}", rows.size(), outputs, keys.size());
  for (std::size_t row = 0; row < keys.size(); ++row) {
    if (rows[row].is_null()) continue;
    const auto numbers = rows[row].get<std::vector<double>>();
    if (numbers.size() != outputs || !are_finite(numbers))
      return fail("its scores of row {} are not {} finite numbers", row, outputs);
    answer.scores.keys.push_back(keys[row]);
    answer.scores.scores.insert(answer.scores.scores.end(), numbers.begin(), numbers.end());
  }
  if (document.contains("form")) answer.form = take_form(document["form"], outputs);
  if (answer.form && !answer.form->classes.empty() &&
      answer.form->classes.size() != std::max<std::size_t>(2, outputs))
    return fail("it has {} classes and {} outputs", answer.form->classes.size(), outputs);
  return answer;
}

}  // namespace

Result<ordered> answer_scores(models::TrainedModel model, const models::DataOptions& data,
                              const json& body) {
  const auto rows = body.is_object() ? body.find("rows") : body.end();
  if (rows == body.end() || !rows->is_array() ||
      !std::ranges::all_of(*rows, [](const json& row) { return row.is_string(); }))
    return fail("expected {{\"rows\": [\"16 HEXADECIMAL DIGITS\", ...]}}");
  if (rows->size() > kScoredRowsLimit)
    return fail("{} rows, expected at most {}", rows->size(), kScoredRowsLimit);
  TRY(const models::Predictor predictor, models::Predictor::make(std::move(model)));
  const auto& part = predictor.card().part;
  if (!part)
    return fail("the model predicts by itself (data.split = rows); expected POST /v1/predict");
  TRY(const models::KeyedScores all, models::score_rows(predictor, data, data.path));
  std::unordered_map<std::string, std::size_t> places;
  const std::string salt = models::key_salt(data);
  for (std::size_t row = 0; row < all.keys.size(); ++row)
    places.emplace(hashed(all.keys[row], salt), row);
  ordered scores = ordered::array();
  for (const json& row : *rows) {
    const auto found = places.find(row.get<std::string>());
    if (found == places.end()) {
      scores.push_back(nullptr);
      continue;
    }
    const auto first =
        all.scores.begin() + static_cast<std::ptrdiff_t>(found->second * all.outputs);
    scores.push_back(std::vector<double>(first, first + static_cast<std::ptrdiff_t>(all.outputs)));
  }
  ordered answer = {{"site", all.site},     {"key", all.key},   {"outputs", all.outputs},
                    {"sites", part->sites}, {"mean", all.mean}, {"scores", std::move(scores)}};
  if (part->is_holder()) answer["form"] = form_json(predictor.form());
  return answer;
}

json scores_question(std::span<const std::string> keys, const std::string& salt) {
  json rows = json::array();
  for (const std::string& key : keys) rows.push_back(hashed(key, salt));
  return {{"rows", std::move(rows)}};
}

Result<SiteAnswer> read_site_answer(const json& document, std::span<const std::string> keys) {
  try {
    return take_answer(document, keys);
  } catch (const json::exception& error) {
    return fail("it is not understood: {}", error.what());
  }
}

}  // namespace starling::daemon
