// Combinations: few settings in which every two choices that go together occur together. The
// choices are those of the schema, and so of the registries: a new algorithm, schedule or format is
// among them without being named here.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/settings.h"

namespace starling::daemon {

// Keys and their values.
using Combination = std::vector<SettingSources::Pair>;

// What a trial of all combinations varies: the keys by which a run takes other paths of the
// protocol and the mathematics.
std::span<const std::string_view> varied_keys();

// Every value of each of `keys` but `auto` and second names. REQUIRES keys of the schema whose
// values have names.
std::vector<Combination> all_combinations(const Schema& schema,
                                          std::span<const std::string_view> keys);

// Some of `legal`, in its order, in which every two values occur together that do so in any of
// `legal`; each of them has two that no other one before it has.
std::vector<Combination> covering_pairs(const std::vector<Combination>& legal);

// Whether a node would take these settings (daemon/setup/legality.h), over the file and the keys
// that are given.
bool is_legal(const Combination& combination, const Settings& given);

// "dpsgd matching f32 sgd none late".
std::string row_name(const Combination& combination);

}  // namespace starling::daemon
