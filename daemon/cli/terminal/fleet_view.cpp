#include "daemon/cli/terminal/fleet_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

double share(double part, double whole) {
  return std::clamp(part / whole, 0.0, 1.0);
}

bool has_reached(const NodeView& node, const gossip::Goal& goal) {
  return (goal.accuracy && node.accuracy && *node.accuracy >= *goal.accuracy) ||
         (goal.loss && node.loss && *node.loss <= *goal.loss);
}

std::string wanted(const gossip::Goal& goal) {
  return goal.accuracy ? fmt::format("an accuracy of {:g} %", 100 * *goal.accuracy)
                       : fmt::format("a loss of {:g}", *goal.loss);
}

// The goal that comes first ends the run.
void take_sooner(FleetView& view, double done, double remaining_s) {
  view.done = std::max(view.done.value_or(0), done);
  if (std::isfinite(remaining_s))
    view.remaining_s = std::min(view.remaining_s.value_or(remaining_s), remaining_s);
}

}  // namespace

bool is_gone(const NodeView& node) {
  return node.state == "ended" || node.state == "dead" || node.state == "left";
}

void Course::extend(Curve& curve, const NodeView& node) {
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

void Course::add(double time_s, std::vector<NodeView>& nodes, std::optional<double> samples) {
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
std::optional<double> Course::rounds_per_s() const {
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
std::optional<double> Course::samples_per_s() const {
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

void measure_goal(FleetView& view, const gossip::Goal& goal, double training_s) {
  const std::uint64_t round = least_round_of(view.nodes);
  view.progress = fmt::format("round {}", round);
  if (goal.rounds > 0) {
    const auto all = static_cast<double>(goal.rounds), past = static_cast<double>(round);
    view.progress += fmt::format(" of {}", goal.rounds);
    take_sooner(view, share(past, all), std::max(0.0, all - past) / view.rounds_per_s.value_or(0));
  }
  if (goal.seconds > 0) {
    view.progress += fmt::format(", {:.0f} s of {:g} s", training_s, goal.seconds);
    take_sooner(view, share(training_s, goal.seconds), std::max(0.0, goal.seconds - training_s));
  }
  if (!goal.accuracy && !goal.loss) return;
  const auto there = static_cast<std::size_t>(std::ranges::count_if(
      view.nodes, [&goal](const NodeView& node) { return has_reached(node, goal); }));
  view.progress += fmt::format(", {} of {} nodes have {}", there, view.nodes.size(), wanted(goal));
  if (!view.done && !view.nodes.empty())
    view.done = share(static_cast<double>(there), static_cast<double>(view.nodes.size()));
}

}  // namespace starling::daemon
