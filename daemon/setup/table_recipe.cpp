#include "daemon/setup/table_recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "gossip/goal.h"

namespace starling::daemon {
namespace {

// With any of these set by the user, the recipe would be half applied.
constexpr const char* kChoices[] = {"optim.algorithm",     "optim.local-optimizer",
                                    "optim.learning-rate", "optim.learning-rate-schedule",
                                    "optim.momentum",      "optim.local-steps",
                                    "exchange.schedule"};

// Rounds in which a rate that falls without an end is halved. Larger: nearer to the optimum later,
// and farther from it soon.
constexpr char kEndless[] = "inverse:100";

bool is_table(const Settings& settings) {
  return settings.at("data.source").value == "csv" && settings.at("model.kind").value != "external";
}

// Tables that are cut by columns are solved, not descended.
bool is_cut_by_columns(const Settings& settings) {
  return settings.at("data.split").value == "columns";
}

// Adam, because columns that follow each other make plain steps of 0.1 too large, and rare words
// make them too small. On every table of bench/tables.py this comes within 1 % of the optimum.
Recipe optimizer_for(const Settings& settings) {
  const auto is_open = [&](const char* key) { return settings.is_default(key); };
  if (!std::ranges::all_of(kChoices, is_open)) return {};
  const std::int64_t rounds = parse_integer(settings.at("stop.rounds").value).value_or(0);
  return {{"optim.local-optimizer", "adam"},
          {"optim.learning-rate", "0.03"},
          {"optim.learning-rate-schedule",
           rounds > 0 ? fmt::format("cosine:{}", rounds) : std::string(kEndless)}};
}

// A target implies a table; nodes with files of their own share no data.
void settle_data(Settings& settings) {
  for (const char* const key : {"data.target", "data.schema"})
    if (!settings.text(key).empty() && settings.is_default("data.source"))
      settings.set("data.source", "csv", key);
  if (settings.text("data.path").find("{i}") != std::string::npos &&
      settings.is_default("data.shard"))
    settings.set("data.shard", "all", "data.path");
}

}  // namespace

bool names_goal(const Settings& settings) {
  return !std::ranges::all_of(gossip::goal_rows(), [&](const gossip::GoalRow& row) {
    return settings.is_default(std::string(row.key));
  });
}

// An mlp learns rows by heart in the rounds that a linear model needs.
Recipe table_recipe(const Settings& settings) {
  if (!is_table(settings) || is_cut_by_columns(settings)) return {};
  Recipe recipe = optimizer_for(settings);
  if (settings.at("model.kind").value == "mlp" && settings.is_default("stop.keep"))
    recipe.emplace_back("stop.keep", "best");
  return recipe;
}

Recipe table_goal(const Settings& settings) {
  if (!is_table(settings) || names_goal(settings)) return {};
  Recipe goal{{"stop.rounds", is_cut_by_columns(settings) ? "1000" : "2000"}};
  if (settings.is_default("eval.every")) goal.emplace_back("eval.every", "50");
  return goal;
}

Recipe settle_local(Settings& settings) {
  settle_data(settings);
  if (settings.is_default("cluster.preset")) settings.set("cluster.preset", "local", "starling up");
  Recipe recipe = table_goal(settings);
  apply_recipe(recipe, settings);
  std::ranges::move(table_recipe(settings), std::back_inserter(recipe));
  apply_recipe(recipe, settings);
  return recipe;
}

void apply_recipe(const Recipe& recipe, Settings& settings) {
  for (const auto& [key, value] : recipe) settings.set(key, value, "recipe for tables");
}

std::string recipe_text(const Recipe& recipe) {
  std::string text;
  for (const auto& [key, value] : recipe)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", key, value);
  return text;
}

}  // namespace starling::daemon
