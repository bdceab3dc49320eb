#include "daemon/cli/up/verdict.h"

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "daemon/cli/terminal/table.h"
#include "daemon/rest/document.h"

namespace starling::daemon {
namespace {

bool all_ended(Fleet& fleet) {
  return std::ranges::all_of(fleet.nodes(), [](Fleet::Node& node) {
    return is_finished(node) || !node.process.running();
  });
}

// A node that no one interrupts leaves when its trainer has done its work.
std::string end_of(const Fleet& fleet, const Fleet::Node& node) {
  return fleet.has_trainers() && node.process.exit_code() == 0 ? "its trainer finished before"
                                                               : "ended before";
}

// Which nodes did not train as they should have, and why the first of them did not; empty: none.
std::string shortfall(Fleet& fleet) {
  std::size_t short_ones = 0;
  bool all_finished = true;
  std::string first;
  for (Fleet::Node& node : fleet.nodes()) {
    std::string reason = part(node.status, "run").value("problem", "");
    all_finished = all_finished && is_finished(node);
    if (!is_finished(node) && !node.process.running()) reason = end_of(fleet, node);
    if (reason.empty()) continue;
    if (short_ones++ == 0) first = fmt::format("{}: {}", node.name, printable(reason));
  }
  if (short_ones == 0) return {};
  return fmt::format("{} of {} nodes {}; {}", short_ones, fleet.nodes().size(),
                     all_finished ? "lost steps at the end" : "did not train to the end", first);
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

bool all_at_least(std::span<const gossip::NodeSummary> nodes, double accuracy) {
  return std::ranges::all_of(nodes, [=](const auto& node) { return node.accuracy >= accuracy; });
}

bool has_loss_at_most(const Fleet::Node& node, double loss) {
  return number(part(part(node.status, "run"), "eval"), "loss").value_or(INFINITY) <= loss;
}

// What every node has reached of the goal's loss and accuracy; empty: nothing.
std::string reached(Fleet& fleet, const gossip::Goal& goal) {
  if (goal.loss && std::ranges::all_of(fleet.nodes(), [&](Fleet::Node& node) {
        return has_loss_at_most(node, *goal.loss);
      }))
    return fmt::format("every node has a loss of at most {}", *goal.loss);
  if (goal.accuracy && all_at_least(fleet.node_summaries(), *goal.accuracy))
    return fmt::format("every node has an accuracy of at least {}", human_fraction(*goal.accuracy));
  return {};
}

}  // namespace

Verdict judge(Fleet& fleet, const gossip::Goal& goal, double training_s) {
  Verdict verdict;
  verdict.has_goal = goal.is_set();
  verdict.text = refusal(fleet);
  verdict.is_refused = !verdict.text.empty();
  if (verdict.is_refused) return verdict;
  verdict.text = reached(fleet, goal);
  const std::string fault = first_fault(fleet);
  verdict.reached = !verdict.text.empty() && fault.empty();
  if (!verdict.text.empty() && !fault.empty()) verdict.text = fault;
  if (!verdict.text.empty()) return verdict;
  const bool rounds_are_over = (goal.rounds > 0 || goal.epsilon) && all_ended(fleet);
  if (!rounds_are_over && !(goal.seconds > 0 && training_s >= goal.seconds)) return verdict;
  std::string lacking = shortfall(fleet);
  if (lacking.empty()) lacking = fault;
  verdict.reached = !goal.accuracy && !goal.loss && lacking.empty();
  if (!lacking.empty())
    verdict.text = lacking;
  else if (rounds_are_over)
    verdict.text = goal.epsilon
                       ? fmt::format("all nodes ended, at an epsilon of at most {}", *goal.epsilon)
                       : fmt::format("all nodes trained {} rounds", goal.rounds);
  else
    verdict.text = fmt::format("{} s are over", goal.seconds);
  return verdict;
}

std::string why_none_runs(Fleet& fleet) {
  if (fleet.failed() > 0) return "no node runs any more";
  return fleet.has_trainers() ? "the trainers of all nodes finished by themselves"
                              : "all nodes have left";
}

}  // namespace starling::daemon
