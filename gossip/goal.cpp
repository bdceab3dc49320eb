#include "gossip/goal.h"

#include <fmt/core.h>

#include <algorithm>

namespace starling::gossip {
namespace {

std::optional<double> above_zero(double value) {
  return value > 0 ? std::optional(value) : std::nullopt;
}

std::string whole(double value) {
  return fmt::format("{:.0f}", value);
}
std::string digits(double value) {
  return fmt::format("{:.4g}", value);
}
std::string percent(double fraction) {
  return fmt::format("{:.4g} %", 100 * fraction);
}

constexpr GoalRow kGoalRows[] = {
    {.key = "stop.rounds",
     .wanted = [](const Goal& goal) { return above_zero(static_cast<double>(goal.rounds)); },
     .come_to = [](const FleetProgress& now) { return std::optional(now.rounds); },
     .number = whole,
     .unit = " rounds"},
    {.key = "stop.seconds",
     .wanted = [](const Goal& goal) { return above_zero(goal.seconds); },
     .come_to = [](const FleetProgress& now) { return std::optional(now.seconds); },
     .number = digits,
     .unit = " s"},
    {.key = "stop.samples",
     .by = JudgedBy::samples,
     .wanted = [](const Goal& goal) { return above_zero(static_cast<double>(goal.samples)); },
     .come_to = [](const FleetProgress& now) { return std::optional(now.samples); },
     .number = whole,
     .unit = " samples"},
    {.key = "stop.accuracy",
     .by = JudgedBy::accuracy,
     .wanted = [](const Goal& goal) { return goal.accuracy; },
     .come_to = [](const FleetProgress& now) { return now.accuracy; },
     .is_limit = false,
     .noun = "accuracy ",
     .number = percent},
    {.key = "stop.loss",
     .by = JudgedBy::loss,
     .wanted = [](const Goal& goal) { return goal.loss; },
     .come_to = [](const FleetProgress& now) { return now.loss; },
     .is_at_most = true,
     .is_limit = false,
     .noun = "held-out loss ",
     .number = digits},
    {.key = "stop.patience",
     .by = JudgedBy::loss,
     .wanted = [](const Goal& goal) { return above_zero(static_cast<double>(goal.patience)); },
     .come_to = [](const FleetProgress& now) { return std::optional(now.stale_evaluations); },
     .number = whole,
     .unit = " evaluations without gain"},
    {.key = "stop.epsilon",
     .wanted = [](const Goal& goal) { return goal.epsilon; },
     .come_to =
         [](const FleetProgress& now) {
           return now.is_budget_spent ? std::optional(0.0) : std::nullopt;
         },
     .is_at_most = true,
     .noun = "epsilon ",
     .number = digits},
};

bool is_reached(const GoalRow& row, const Goal& goal, const FleetProgress& progress) {
  const std::optional<double> wanted = row.wanted(goal), now = row.come_to(progress);
  return wanted && now && (row.is_at_most ? *now <= *wanted : *now >= *wanted);
}

}  // namespace

std::span<const GoalRow> goal_rows() {
  return kGoalRows;
}

bool asks(const Goal& goal, JudgedBy by) {
  return std::ranges::any_of(
      kGoalRows, [&](const GoalRow& row) { return row.by == by && row.wanted(goal).has_value(); });
}

bool Goal::is_set() const {
  return std::ranges::any_of(kGoalRows,
                             [this](const GoalRow& row) { return row.wanted(*this).has_value(); });
}

std::optional<std::uint64_t> Goal::last_round(std::uint64_t uncounted) const {
  return rounds > 0 ? std::optional(rounds + uncounted) : std::nullopt;
}

const GoalRow* reached_goal(const Goal& goal, const FleetProgress& progress) {
  const auto* const row = std::ranges::find_if(
      kGoalRows, [&](const GoalRow& one) { return is_reached(one, goal, progress); });
  return row == std::end(kGoalRows) ? nullptr : row;
}

std::string progress_text(const Goal& goal, const FleetProgress& progress) {
  std::string text;
  for (const GoalRow& row : kGoalRows) {
    const std::optional<double> wanted = row.wanted(goal), now = row.come_to(progress);
    if (!wanted || !now) continue;
    text += fmt::format("{}{}{} of {}{}", text.empty() ? "" : ", ", row.noun, row.number(*now),
                        row.number(*wanted), row.unit);
  }
  return text;
}

std::optional<double> share_done(const Goal& goal, const FleetProgress& progress) {
  std::optional<double> share;
  for (const GoalRow& row : kGoalRows) {
    const std::optional<double> wanted = row.wanted(goal), now = row.come_to(progress);
    if (!row.is_limit || row.is_at_most || !wanted || !now) continue;
    share = std::max(share.value_or(0), std::clamp(*now / *wanted, 0.0, 1.0));
  }
  return share;
}

std::string shortfall(const Goal& goal, const FleetProgress& progress) {
  std::string text;
  for (const GoalRow& row : kGoalRows) {
    const std::optional<double> wanted = row.wanted(goal), now = row.come_to(progress);
    if (row.is_limit || !wanted) continue;
    if (is_reached(row, goal, progress)) return {};
    text += fmt::format("{}{} = {:g} is not reached: {}", text.empty() ? "" : "; ", row.key,
                        *wanted, now ? row.words(*now) : "no evaluation");
  }
  return text;
}

}  // namespace starling::gossip
