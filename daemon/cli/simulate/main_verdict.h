// The part of starling simulate that writes the results of runs under faults as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "gossip/report/summary.h"

namespace starling::sim {
struct Verdict;
struct SoakReport;
}  // namespace starling::sim

namespace starling::daemon {

// The document of a plain run, and `passed`, `agreed_after_s`, `distance` (from the mean, at the
// end), `faults` (how often each hit) and `scenario` (its lines, which --scenario plays again).
nlohmann::ordered_json chaos_json(const sim::Verdict& verdict, const gossip::Summary& summary);

// `seeds`, `passed`, the `failures` by seed with their laws and scenarios, and totals.
nlohmann::ordered_json chaos_json(const sim::SoakReport& report);

// {"violations": …, "scenario": …}: a failure, cut down to the faults that matter.
nlohmann::ordered_json failure_json(const sim::Verdict& failure);

// Of a text of lines.
nlohmann::ordered_json lines_json(std::string_view text);

}  // namespace starling::daemon
