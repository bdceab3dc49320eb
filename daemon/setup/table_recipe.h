// table_recipe: the settings for a table, where the user sets no method.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/settings.h"

namespace starling::daemon {

using Recipe = std::vector<std::pair<std::string, std::string>>;

// Whether any key of stop.* is set.
bool names_goal(const Settings& settings);

// Keys and values that stand in for defaults with data.source = csv: an optimizer, whose rate falls
// to zero over stop.rounds; without that number it falls for ever, ever more slowly. If the user
// chooses an algorithm, a schedule or any key of the optimizer, or has a trainer: none. For an mlp
// also stop.keep = best.
Recipe table_recipe(const Settings& settings);
// Before the former, where nodes are started together: for a table without a goal a number of
// rounds.
Recipe table_goal(const Settings& settings);
// The settings of nodes that are started together on one machine: a target implies a table, nodes
// with files of their own share no data, the preset is `local`, and a table gets goal and recipe,
// which are returned.
Recipe settle_local(Settings& settings);

// Sets them.
void apply_recipe(const Recipe& recipe, Settings& settings);
// "stop.rounds = 2000, eval.every = 50"
std::string recipe_text(const Recipe& recipe);

}  // namespace starling::daemon
