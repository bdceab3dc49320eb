// Reading the part `run` of a node's status (status_json.h).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "gossip/report/summary.h"

namespace starling::daemon {

// Of its fields eval and alone; nothing for an empty document.
std::optional<optim::Evaluation> read_evaluation(const nlohmann::json& document);

// "model.l2 = 0.00092: 10 / 10,900 rows, ..."; empty if it was not found from the data.
std::string l2_line(const nlohmann::json& run);

}  // namespace starling::daemon
