// The document of /v1/fleet: this node's estimates of all nodes.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "daemon/process/board.h"

namespace starling::daemon {

// {"summary", "nodes", "training", "paused", "finished", "joining", "degraded", "loss": {mean, min,
// max, error}, "accuracy", "round", "samples_per_s", "bytes_per_s", "computing",
// "consensus_distance": {value, error}, "age_s"}. Rates have a total too. Values that no node has,
// or that are unknown, are null.
nlohmann::json fleet_json(const Snapshot& snapshot);

}  // namespace starling::daemon
