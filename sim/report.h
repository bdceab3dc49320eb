// Report: a summary for programs (JSON, the names of docs) and for people (a table).
#pragma once

#include <optional>
#include <string>

#include "sim/simulation.h"

namespace starling::sim {

// One JSON document; what does not apply is left out. `wall_s` is the caller's measurement.
std::string json(const Summary& summary, std::optional<double> wall_s = std::nullopt);

// Lines with the nodes, one each, and what came of the run.
std::string table(const Summary& summary);

}  // namespace starling::sim
