#include "daemon/setup/table_recipe.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>

#include "gossip/goal.h"

namespace starling::daemon {
namespace {

// With any of these set by the user, the recipe would be half applied.
constexpr const char* kChoices[] = {"optim.algorithm",     "optim.local-optimizer",
                                    "optim.learning-rate", "optim.learning-rate-schedule",
                                    "optim.momentum",      "optim.local-steps",
                                    "exchange.schedule"};

// Adam, because columns that follow each other make plain steps of 0.1 too large, and rare words
// make them too small. On every table of bench/tables.py this comes within 1 % of the optimum.
constexpr std::pair<const char*, const char*> kOptimizer[] = {
    {"optim.local-optimizer", "adam"},
    {"optim.learning-rate", "0.03"},
    {"optim.learning-rate-schedule", "cosine:2000"}};

bool are_defaults(const Settings& settings, std::span<const char* const> keys) {
  return std::ranges::all_of(keys, [&](const char* key) { return settings.is_default(key); });
}

}  // namespace

bool names_goal(const Settings& settings) {
  return !std::ranges::all_of(gossip::goal_rows(), [&](const gossip::GoalRow& row) {
    return settings.is_default(std::string(row.key));
  });
}

std::vector<std::pair<std::string, std::string>> table_recipe(const Settings& settings) {
  if (settings.at("data.source").value != "csv" || names_goal(settings)) return {};
  std::vector<std::pair<std::string, std::string>> recipe{{"stop.rounds", "2000"}};
  if (settings.is_default("eval.every")) recipe.emplace_back("eval.every", "50");
  if (are_defaults(settings, kChoices))
    recipe.insert(recipe.end(), std::begin(kOptimizer), std::end(kOptimizer));
  return recipe;
}

}  // namespace starling::daemon
