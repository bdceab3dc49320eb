// metrics_text: the metrics of a node, in the text format of Prometheus. Names begin with
// starling_, units are base units, shares are fractions of 1, counters end in _total. Unknown or
// non-finite values are absent: a 0 was measured.
#pragma once

#include <cstddef>
#include <string>

#include "daemon/process/board.h"
#include "daemon/process/event_log.h"

namespace starling::daemon {

inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

// Neighbours that have series of their own, the first by name. All others together are the
// neighbour "other", with the largest of their values and no counters: those of a changing set
// would go back. More of them cost a server about ten series each, for every node.
inline constexpr std::size_t kNeighborSeriesLimit = 64;

// One scrape; pure. Labels are bounded: by the limit above, and by lists in the code.
std::string metrics_text(const Snapshot& snapshot, const EventCounts& events);

}  // namespace starling::daemon
