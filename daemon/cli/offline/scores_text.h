// scores_text: scores for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "models/scores.h"

namespace starling::daemon {

std::string scores_text(const models::Scores& scores);
nlohmann::ordered_json scores_json(const models::Scores& scores);

}  // namespace starling::daemon
