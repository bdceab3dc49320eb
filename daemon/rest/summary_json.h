// A summary for programs, with the names of docs/watching.md.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "gossip/report/summary.h"

namespace starling::daemon {

// What does not apply is left out.
nlohmann::ordered_json summary_json(const gossip::Summary& summary);

}  // namespace starling::daemon
