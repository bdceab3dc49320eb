#include "daemon/cli/simulate/main_verdict.h"

#include <fmt/format.h>

#include "daemon/rest/summary_json.h"
#include "sim/simulation.h"
#include "sim/soak.h"

namespace starling::daemon {
namespace {

using Json = nlohmann::ordered_json;

Json faults_json(const sim::FaultCounts& counts) {
  Json object = Json::object();
  for (const sim::NamedCount& count : list(counts)) object[std::string(count.name)] = count.value;
  return object;
}

// As text: a JSON number does not hold 64 bits.
std::string hash_text(std::uint64_t hash) {
  return fmt::format("{:016x}", hash);
}

}  // namespace

Json lines_json(std::string_view text) {
  Json lines = Json::array();
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(std::string(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Json failure_json(const sim::Verdict& failure) {
  gossip::Summary summary;
  summary.violations = sim::breaches(failure.violations);
  return {{"violations", summary_json(summary)["violations"]},
          {"scenario", lines_json(sim::to_text(failure.scenario))}};
}

Json chaos_json(const sim::Verdict& verdict, const gossip::Summary& summary) {
  Json object = summary_json(summary);
  object["passed"] = verdict.passed();
  if (verdict.agreed_after) object["agreed_after_s"] = seconds(*verdict.agreed_after);
  object["distance"] = verdict.distance;
  object["faults"] = faults_json(verdict.counts);
  object["scenario"] = lines_json(sim::to_text(verdict.scenario));
  return object;
}

Json chaos_json(const sim::SoakReport& report) {
  Json failures = Json::array();
  for (const sim::Verdict& failure : report.failures) {
    Json one = {{"seed", failure.scenario.seed}};
    one.update(failure_json(failure));
    one["event_hash"] = hash_text(failure.event_hash);
    failures.push_back(std::move(one));
  }
  return {{"seeds", report.seeds},
          {"passed", report.seeds - report.failures.size()},
          {"failures", std::move(failures)},
          {"faults", faults_json(report.counts)},
          {"rounds", report.rounds},
          {"events", report.events},
          {"hash", hash_text(report.hash)},
          {"slowest_agreement_s", seconds(report.slowest_agreement)}};
}

}  // namespace starling::daemon
