// table_recipe: how `up` learns a table when it is told what, and neither how nor how long.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/settings.h"

namespace starling::daemon {

// Whether any key of stop.* says when training ends.
bool names_goal(const Settings& settings);

// Keys and values that stand in for defaults: for data.source = csv without a goal (stop.*), a
// number of rounds, and an optimizer whose rate falls to zero over them. A user who chooses an
// algorithm, a schedule or anything of the optimizer gets the rounds alone. Empty: no recipe.
std::vector<std::pair<std::string, std::string>> table_recipe(const Settings& settings);

}  // namespace starling::daemon
