// scores_json: what the model of a site's columns says of rows of its table, for those who add the
// scores of all sites up (models/keyed_scores.h).
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "base/result.h"
#include "models/data/data_options.h"
#include "models/keyed_scores.h"
#include "models/predictor.h"

namespace starling::daemon {

inline constexpr std::size_t kScoredRowsLimit = 20'000;  // of one request

// From {"rows": ["16 hexadecimal digits", ...]}, the salted hashes of keys, to {"site": …, "mean":
// […], "scores": [[…], null, …], …} in their order, null for a row that the table does not hold.
// The site with the target also says how a sum reads: "form". The table is read as it is now.
Result<nlohmann::ordered_json> answer_scores(models::TrainedModel model,
                                             const models::DataOptions& data,
                                             const nlohmann::json& body);
// The request for these keys.
nlohmann::json scores_question(std::span<const std::string> keys, const std::string& salt);

// What a site answered to a question for these keys.
struct SiteAnswer {
  models::KeyedScores scores;
  std::vector<std::string> sites;
  std::optional<models::OutputForm> form = {};  // of the site with the target
};
// Outside data: the error says what is wrong.
Result<SiteAnswer> read_site_answer(const nlohmann::json& document,
                                    std::span<const std::string> keys);

}  // namespace starling::daemon
