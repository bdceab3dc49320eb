// The view of a fleet, from the documents of one of its nodes: /v1/fleet, /v1/members, /v1/status
// and /v1/config. Missing values are left out; a wrong type is an error.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "daemon/cli/terminal/fleet_view.h"

namespace starling::daemon {

// The sentence and all members; no curves and no rates of rounds.
Result<FleetView> view_of_fleet(const nlohmann::json& fleet, const nlohmann::json& members,
                                const nlohmann::json& status);

// The sentence, and the node itself alone.
Result<FleetView> view_of_node(const nlohmann::json& status);

// Samples that the node has trained on; nothing if unknown.
std::optional<double> samples_of(const nlohmann::json& status);

}  // namespace starling::daemon
