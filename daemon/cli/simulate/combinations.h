// Combinations: a few combinations of settings that cover every legal pair of values. The values
// come from the schema, and so from the registries: a new algorithm, schedule or format is included
// without a change here.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/settings.h"
#include "daemon/cli/sweep/grid.h"

namespace starling::daemon {

// Keys and their values.
using Combination = GridPoint;

// The keys varied in a trial of all combinations: those that change the paths through the protocol
// and the mathematics.
std::span<const std::string_view> varied_keys();

// Every value of each of `keys` but `auto` and second names. REQUIRES keys of the schema whose
// values have names.
std::vector<Combination> all_combinations(const Schema& schema,
                                          std::span<const std::string_view> keys);

// A subset of `legal`, in its order, that covers every pair of values in `legal`; each element
// covers a pair that none before it does.
std::vector<Combination> covering_pairs(const std::vector<Combination>& legal);

// Whether a node would take these settings (daemon/setup/legality.h), over the given file and keys.
bool is_legal(const Combination& combination, const Settings& given);

// "dpsgd rounds matching f32 sgd none late".
std::string row_name(const Combination& combination);

}  // namespace starling::daemon
