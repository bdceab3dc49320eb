#include "daemon/cli/terminal/fleet_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/utf8.h"

namespace starling::daemon {
namespace {

// Of the nodes that are there, or of all where none is.
std::uint64_t least_round_of(const std::vector<NodeView>& nodes) {
  std::optional<std::uint64_t> least;
  const bool has_some = !std::ranges::all_of(nodes, is_gone);
  for (const NodeView& node : nodes)
    if (!has_some || !is_gone(node)) least = std::min(least.value_or(node.round), node.round);
  return least.value_or(0);
}

}  // namespace

bool is_gone(const NodeView& node) {
  return node.state == "ended" || node.state == "dead" || node.state == "left";
}

void FleetRates::extend(Curve& curve, const NodeView& node) {
  if (!node.loss || !std::isfinite(*node.loss)) return;
  if (curve.last && curve.round == node.round) return;
  curve.round = node.round;
  curve.last = node.loss;
  if (++curve.skipped < curve.every) return;
  curve.skipped = 0;
  curve.losses.push_back(*node.loss);
  if (curve.losses.size() < kLossesLimit) return;
  for (std::size_t k = 0; k < kLossesLimit / 2; ++k) curve.losses[k] = curve.losses[2 * k];
  curve.losses.resize(kLossesLimit / 2);
  curve.every *= 2;
}

void FleetRates::add(double time_s, std::vector<NodeView>& nodes, std::optional<double> samples) {
  for (NodeView& node : nodes) {
    Curve& curve = curves_[node.name];
    extend(curve, node);
    node.losses = curve.losses;
    // The newest stands at the end, whether it is kept or not.
    if (curve.last && curve.skipped > 0) node.losses.push_back(*curve.last);
  }
  Sample sample{.time_s = time_s, .samples = samples};
  for (const NodeView& node : nodes)
    if (!is_gone(node)) sample.rounds[node.name] = node.round;
  recent_.push_back(std::move(sample));
  while (recent_.size() > 2 && time_s - recent_[1].time_s >= kWindow_s) recent_.pop_front();
}

// The mean over the nodes that were there at both ends.
std::optional<double> FleetRates::rounds_per_s() const {
  if (recent_.size() < 2 || recent_.back().time_s <= recent_.front().time_s) return std::nullopt;
  double rounds = 0, count = 0;
  for (const auto& [name, round] : recent_.back().rounds) {
    const auto before = recent_.front().rounds.find(name);
    if (before == recent_.front().rounds.end()) continue;
    rounds += static_cast<double>(round) - static_cast<double>(std::min(round, before->second));
    ++count;
  }
  if (count == 0) return std::nullopt;
  return rounds / count / (recent_.back().time_s - recent_.front().time_s);
}

// A count that fell is that of a node that began again.
std::optional<double> FleetRates::samples_per_s() const {
  if (recent_.size() < 2 || recent_.back().time_s <= recent_.front().time_s) return std::nullopt;
  if (!recent_.front().samples || !recent_.back().samples) return std::nullopt;
  double samples = 0, before = *recent_.front().samples;
  for (const Sample& sample : recent_) {
    const double now = sample.samples.value_or(before);
    samples += std::max(0.0, now - before);
    before = now;
  }
  return samples / (recent_.back().time_s - recent_.front().time_s);
}

void read_progress(const nlohmann::json& run, FleetView& view) {
  view.progress =
      printable(run.value("progress", fmt::format("round {}", least_round_of(view.nodes))));
  if (run.contains("done")) view.done = run["done"].get<double>();
  if (run.contains("remaining_s")) view.remaining_s = run["remaining_s"].get<double>();
}

}  // namespace starling::daemon
