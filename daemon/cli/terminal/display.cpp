#include "daemon/cli/terminal/display.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "daemon/cli/terminal/quality.h"
#include "daemon/cli/terminal/table.h"
#include "gossip/status.h"

namespace starling::daemon {
namespace {

constexpr std::size_t kRowsLimit = 64;  // of a table for people
constexpr std::size_t kNameWidth = 8;
constexpr double kLarge = 1000;  // from here on six digits count, not a number of decimals

std::string optional_number(const std::optional<double>& value, int digits) {
  if (!value) return "-";
  return std::abs(*value) < kLarge ? fmt::format("{:.{}f}", *value, digits)
                                   : fmt::format("{:.6g}", *value);
}

std::string optional_small(const std::optional<double>& value) {
  return value ? fmt::format("{:.2e}", *value) : "-";
}

std::string range(std::span<const gossip::NodeSummary> nodes, std::string_view what,
                  std::optional<double> gossip::NodeSummary::*member) {
  std::vector<double> values;
  for (const gossip::NodeSummary& node : nodes)
    if (node.*member) values.push_back(*(node.*member));
  if (values.empty()) return {};
  std::ranges::sort(values);
  return fmt::format("; {} {:.4g} to {:.4g}, median {:.4g}", what, values.front(), values.back(),
                     values[values.size() / 2]);
}

// A summary of the rows that are not shown.
std::string rest(std::span<const gossip::NodeSummary> nodes, bool has_rmse) {
  return fmt::format("... and {} more (--json has all). Of all {}{}{}{}.\n",
                     nodes.size() - kRowsLimit, nodes.size(),
                     range(nodes, "loss", &gossip::NodeSummary::loss),
                     has_rmse ? range(nodes, "rmse", &gossip::NodeSummary::rmse)
                              : range(nodes, "accuracy", &gossip::NodeSummary::accuracy),
                     range(nodes, "consensus", &gossip::NodeSummary::distance));
}

}  // namespace

// 60 columns, with room for the numbers to come: the table is drawn over and over.
std::string node_table(std::span<const gossip::NodeSummary> nodes) {
  const auto has = [nodes](std::optional<double> gossip::NodeSummary::*member) {
    return std::ranges::any_of(nodes, [member](auto& node) { return (node.*member).has_value(); });
  };
  const bool has_rmse = has(&gossip::NodeSummary::rmse);
  const bool has_optimum = has(&gossip::NodeSummary::distance_to_optimum);
  const bool has_quality = has_rmse || has(&gossip::NodeSummary::accuracy) || !has_optimum;
  std::size_t width = kNameWidth;
  for (const gossip::NodeSummary& node : nodes) width = std::max(width, node.name.size());
  std::string text = fmt::format("{:<{}}{:>7}{:>10}", "node", width, "round", "loss");
  if (has_quality) text += fmt::format("{:>10}", has_rmse ? "rmse" : "accuracy");
  text += fmt::format("{:>11}", "consensus");
  if (has_optimum) text += fmt::format("{:>12}", "to optimum");
  text += fmt::format("{:>10}\n", "sent");
  for (const gossip::NodeSummary& node : nodes.first(std::min(nodes.size(), kRowsLimit))) {
    text += fmt::format("{:<{}}{:>7}{:>10}", node.name, width, node.round,
                        optional_number(node.loss, 5));
    if (has_quality)
      text += fmt::format("{:>10}", optional_number(has_rmse ? node.rmse : node.accuracy, 4));
    text += fmt::format("{:>11}", optional_small(node.distance));
    if (has_optimum) text += fmt::format("{:>12}", optional_number(node.distance_to_optimum, 7));
    text += fmt::format("{:>10}\n",
                        node.sent_bytes ? human_bytes(static_cast<double>(*node.sent_bytes)) : "-");
  }
  if (nodes.size() > kRowsLimit) text += rest(nodes, has_rmse);
  return text;
}

std::string summary_text(const gossip::Summary& summary) {
  const gossip::Goal& goal = summary.goal.wanted;
  const bool has_goal = goal.is_set();
  std::string text = node_table(summary.nodes) + "\n";
  const bool is_by_hand = summary.goal.reason == gossip::kStoppedByHand;
  text += is_by_hand             ? "Ended"
          : summary.goal.reached ? "Goal reached"
          : has_goal             ? "Goal not reached"
                                 : "Stopped";
  if (summary.virtual_s) text += fmt::format(" after {:.3f} s of virtual time", *summary.virtual_s);
  if (summary.wall_s && summary.virtual_s)
    text += fmt::format(" ({:.1f} s of real time)", *summary.wall_s);
  else if (summary.wall_s)
    text += fmt::format(" after {:.1f} s", *summary.wall_s);
  text += fmt::format(": {}.\n", summary.goal.reason);
  if (summary.goal.model.hash != 0)
    text += fmt::format("All end with one model, {}.\n", to_text(summary.goal.model));
  text += quality_lines(summary.nodes);
  if (summary.seed && summary.event_hash)
    text += fmt::format("Seed {}, {} events, event hash {:016x}.\n", *summary.seed,
                        summary.events.value_or(0), *summary.event_hash);
  for (const gossip::Breach& breach : summary.violations)
    text += fmt::format("VIOLATION {}, at {:.6f} s, {}: {}\n", breach.law, breach.time_s,
                        breach.node, breach.text);
  return text;
}

}  // namespace starling::daemon
