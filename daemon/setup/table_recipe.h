// table_recipe: the settings of `up` for a table, if the user sets neither method nor duration.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/settings.h"

namespace starling::daemon {

// Whether any key of stop.* is set.
bool names_goal(const Settings& settings);

// Keys and values that stand in for defaults: for data.source = csv without a goal (stop.*), a
// number of rounds, and an optimizer whose rate falls to zero over them. If the user chooses an
// algorithm, a schedule or any key of the optimizer: only the rounds. Empty: no recipe.
std::vector<std::pair<std::string, std::string>> table_recipe(const Settings& settings);

}  // namespace starling::daemon
