// The document of /v1/trace: trace events as chrome://tracing and Perfetto read them (Trace Event
// Format, https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU).
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "daemon/process/trace_log.h"

namespace starling::daemon {

// One process, named after the node, with a track for the training thread ("mix", "evaluate",
// "compute", "encode": complete events), one for the I/O thread ("send"), one for the rounds
// ("wait"), and one a neighbour for the vectors on their way from it ("receive": pairs of async
// events, because several may be under way). Times are microseconds since 1970, so that the traces
// of several nodes lie beside each other as well as their clocks agree. `spans` in the order in
// which they began; `started`: when the process did.
nlohmann::json trace_json(const std::string& node, const std::vector<TraceSpan>& spans,
                          std::chrono::system_clock::time_point started);

}  // namespace starling::daemon
