#include "daemon/cli/up/verdict.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/utf8.h"
#include "daemon/cli/terminal/table.h"
#include "daemon/rest/document.h"

namespace starling::daemon {
namespace {

// The last look at all nodes decides. A process that has ended since then is judged after the next
// look, which reads what the node wrote at its end.
bool all_ended(Fleet& fleet) {
  return std::ranges::all_of(fleet.nodes(), [](const Fleet::Node& node) {
    return is_finished(node) || node.has_last_status;
  });
}

// A node that no one interrupts leaves when its trainer has done its work.
std::string end_of(const Fleet& fleet, const Fleet::Node& node) {
  return fleet.has_trainers() && node.process.exit_code() == 0 ? "its trainer finished before"
                                                               : "ended before";
}

// Which nodes did not train as they should have, and why the first of them did not; empty: none. In
// a run that a person ended (`by_hand`) a node may have left before.
std::string shortfall(Fleet& fleet, bool by_hand) {
  std::size_t short_ones = 0;
  bool all_finished = true;
  std::string first;
  for (Fleet::Node& node : fleet.nodes()) {
    const nlohmann::json& run = part(node.status, "run");
    std::string reason = run.value("shortfall", run.value("problem", ""));
    all_finished = all_finished && is_finished(node);
    const bool has_left = !is_finished(node) && node.has_last_status;
    if (has_left && by_hand && node.process.exit_code() == 0) continue;
    if (has_left) reason = end_of(fleet, node);
    if (reason.empty()) continue;
    if (short_ones++ == 0) first = fmt::format("{}: {}", node.name, printable(reason));
  }
  if (short_ones == 0) return {};
  return fmt::format("{} of {} nodes {}; {}", short_ones, fleet.nodes().size(),
                     all_finished ? "lost steps at the end" : "did not train to the end", first);
}

gossip::EndModel end_model_of(const nlohmann::json& end) {
  const std::string hash = end.value("model", "");
  return {.hash = parse_exactly<std::uint64_t>(hash, 16).value_or(0),
          .nodes = end.value("nodes", std::uint64_t{0}),
          .round = end.value("kept_round", std::uint64_t{0})};
}

// Which two nodes ended with different models; empty: none.
std::string difference(Fleet& fleet, const gossip::EndModel& model) {
  for (const Fleet::Node& node : fleet.nodes()) {
    const gossip::EndModel own = end_model_of(part(part(node.status, "run"), "end"));
    if (own.hash != 0 && own.hash != model.hash)
      return fmt::format("the nodes end with different models: {} with {}, others with {}",
                         node.name, to_text(own), to_text(model));
  }
  return {};
}

// What the first node that has one says is wrong with its result; empty: none says so.
std::string first_fault(Fleet& fleet) {
  for (const Fleet::Node& node : fleet.nodes())
    if (const auto text = part(node.status, "run").value("fault", ""); !text.empty())
      return fmt::format("{}: {}", node.name, printable(text));
  return {};
}

// What all nodes say of their data, where these give no model; else empty.
std::string refusal(Fleet& fleet) {
  std::string text;
  for (const Fleet::Node& node : fleet.nodes()) {
    text.clear();
    for (const nlohmann::json& reason : part(part(node.status, "node"), "reasons"))
      if (const std::string words = reason; words.starts_with(gossip::kCannotTrain)) text = words;
    if (text.empty()) return {};
  }
  return printable(text);
}

}  // namespace

Verdict judge(Fleet& fleet, const gossip::Goal& goal) {
  Verdict verdict;
  verdict.has_goal = goal.is_set();
  verdict.text = refusal(fleet);
  verdict.is_refused = !verdict.text.empty();
  if (verdict.is_refused || !all_ended(fleet)) return verdict;
  for (const Fleet::Node& node : fleet.nodes()) {
    const nlohmann::json& end = part(part(node.status, "run"), "end");
    if (!verdict.text.empty() || !end.contains("model")) continue;
    verdict.text = printable(end.value("reason", ""));
    verdict.model = end_model_of(end);
  }
  std::string lacking = shortfall(fleet, verdict.text.starts_with(gossip::kStoppedByHand));
  if (lacking.empty()) lacking = first_fault(fleet);
  if (lacking.empty()) lacking = difference(fleet, verdict.model);
  if (!lacking.empty())
    verdict.text = lacking;
  else
    verdict.reached = verdict.has_goal;
  return verdict;
}

std::string why_none_runs(Fleet& fleet) {
  if (fleet.failed() > 0) return "no node runs any more";
  return fleet.has_trainers() ? "the trainers of all nodes finished by themselves"
                              : "all nodes have left";
}

}  // namespace starling::daemon
