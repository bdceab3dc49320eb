// The part of a summary that `starling up` and other reports share, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "gossip/summary.h"

namespace starling::daemon {

// {"nodes": […], "series": […]}; what does not apply is left out.
nlohmann::json summary_json(std::span<const gossip::NodeSummary> nodes,
                            std::span<const gossip::SeriesPoint> series);

}  // namespace starling::daemon
