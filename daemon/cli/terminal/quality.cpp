#include "daemon/cli/terminal/quality.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "daemon/process/log.h"

namespace starling::daemon {
namespace {

using optim::Evaluation;

constexpr std::size_t kNodesTold = 8;

struct Measure {
  std::string_view name;
  std::optional<double> (*of)(const Evaluation&);
  const char* format;
};
// The first that is known tells most.
constexpr Measure kMeasures[] = {
    {"area under the curve", [](const Evaluation& e) { return e.area; }, "{:.3f}"},
    {"accuracy", [](const Evaluation& e) { return e.accuracy; }, "{:.3f}"},
    {"root mean square error", [](const Evaluation& e) { return e.rmse; }, "{:.4g}"}};

std::string words(const Measure& measure, const Evaluation& of) {
  const double value = *measure.of(of);
  return fmt::format(fmt::runtime(measure.format), value);
}

// Of a measure that both have; empty: there is none.
std::string gain(const gossip::NodeSummary& node) {
  if (!node.alone || !node.held_out) return {};
  for (const Measure& measure : kMeasures)
    if (measure.of(*node.alone) && measure.of(*node.held_out))
      return fmt::format("{} alone: {} {}; with all {} (of {} held-out rows)\n",
                         printable(node.name), measure.name, words(measure, *node.alone),
                         words(measure, *node.held_out), with_commas(node.alone->samples));
  return {};
}

// Recalls add up; an area is of the rows of one node.
std::string rare_line(std::span<const gossip::NodeSummary> nodes) {
  optim::Recall all;
  double area = 0, alone = 0, pairs = 0;
  for (const gossip::NodeSummary& node : nodes) {
    if (!node.held_out || !node.held_out->rare) continue;
    all.name = node.held_out->rare->name;
    all.rows += node.held_out->rare->rows;
    all.found += node.held_out->rare->found;
    area += node.held_out->area.value_or(0) * node.held_out->pairs;
    if (node.alone) alone += node.alone->area.value_or(0) * node.held_out->pairs;
    pairs += node.held_out->pairs;
  }
  if (all.rows == 0) return {};
  std::string text = "On held-out rows: ";
  if (pairs > 0)
    text += fmt::format(
        "area under the curve {:.3f}, of the nodes alone {:.3f} (means of the nodes, by pairs of "
        "rows); ",
        area / pairs, alone / pairs);
  return text + fmt::format("recall of {} {:.3f} ({} of {}).\n", printable(all.name),
                            static_cast<double>(all.found) / static_cast<double>(all.rows),
                            with_commas(all.found), with_commas(all.rows));
}

}  // namespace

std::string quality(const Evaluation& evaluation) {
  for (const Measure& measure : kMeasures)
    if (measure.of(evaluation))
      return fmt::format("{} {}", measure.name, words(measure, evaluation));
  return {};
}

std::string quality_lines(std::span<const gossip::NodeSummary> nodes) {
  std::string text;
  std::size_t told = 0;
  for (const gossip::NodeSummary& node : nodes) {
    const std::string line = gain(node);
    if (!line.empty() && told++ < kNodesTold) text += line;
  }
  if (told > kNodesTold)
    text += fmt::format("... and {} nodes more (--json has all).\n", told - kNodesTold);
  return text + rare_line(nodes);
}

void log_quality(const std::string& name, const gossip::RunStatus& run) {
  const gossip::NodeSummary own{
      .name = name, .held_out = run.evaluation, .alone = run.preparation.alone};
  for (const std::string& line : split(quality_lines({&own, 1}), '\n'))
    if (!line.empty()) log::info("{}", line);
}

}  // namespace starling::daemon
