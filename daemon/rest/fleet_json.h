// The document of /v1/fleet: what this node knows of all nodes.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "daemon/process/board.h"

namespace starling::daemon {

// {"summary", "nodes", "training", "paused", "finished", "joining", "degraded", "loss": {mean, min,
// max, error}, "accuracy", "round", "samples_per_s", "bytes_per_s", "computing",
// "consensus_distance": {value, error}, "age_s"}. Rates have a total too. What no node has, or what
// is not known yet, is null.
nlohmann::json fleet_json(const Snapshot& snapshot);

}  // namespace starling::daemon
