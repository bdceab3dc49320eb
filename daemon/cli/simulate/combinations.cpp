#include "daemon/cli/simulate/combinations.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/check.h"
#include "daemon/setup/config.h"
#include "optim/options.h"

namespace starling::daemon {
namespace {

using ValuePair = std::pair<SettingSources::Pair, SettingSources::Pair>;

bool is_choice(std::string_view key, std::string_view value) {
  if (value == "auto") return false;
  return key != "optim.algorithm" || optim::find_algorithm(value) != nullptr;
}

// Every two of its values.
std::vector<ValuePair> pairs_of(const Combination& combination) {
  std::vector<ValuePair> pairs;
  for (std::size_t k = 0; k < combination.size(); ++k)
    for (std::size_t l = k + 1; l < combination.size(); ++l)
      pairs.emplace_back(combination[k], combination[l]);
  return pairs;
}

}  // namespace

std::span<const std::string_view> varied_keys() {
  static constexpr std::array<std::string_view, 7> kKeys = {
      "optim.algorithm",       "exchange.schedule", "topology.sequence", "exchange.codec",
      "optim.local-optimizer", "optim.outer",       "exchange.missing"};
  return kKeys;
}

std::vector<Combination> all_combinations(const Schema& schema,
                                          std::span<const std::string_view> keys) {
  std::vector<GridKey> grid;
  for (const std::string_view name : keys) {
    const Key* key = schema.find(name);
    ENSURE(key && !key->choices.empty(), "a key that is varied has names for its values");
    grid.push_back({std::string(name), {}});
    for (const std::string& value : key->choices)
      if (is_choice(name, value)) grid.back().values.push_back(value);
  }
  return points_of(grid);
}

// The greedy rule: each time the one with the most pairs that are not covered yet.
std::vector<Combination> covering_pairs(const std::vector<Combination>& legal) {
  if (!legal.empty() && legal.front().size() < 2) return legal;
  std::set<ValuePair> open;
  for (const Combination& combination : legal)
    for (ValuePair& pair : pairs_of(combination)) open.insert(std::move(pair));
  const auto covered_by = [&](const Combination& combination) {
    return std::ranges::count_if(pairs_of(combination),
                                 [&](const ValuePair& pair) { return open.contains(pair); });
  };
  std::vector<Combination> chosen;
  while (!open.empty()) {
    chosen.push_back(*std::ranges::max_element(legal, {}, covered_by));
    for (const ValuePair& pair : pairs_of(chosen.back())) open.erase(pair);
  }
  std::ranges::sort(chosen, {}, [&](const Combination& combination) {
    return std::ranges::find(legal, combination) - legal.begin();
  });
  return chosen;
}

bool is_legal(const Combination& combination, const Settings& given) {
  Settings settings = given;
  for (const auto& [key, value] : combination) settings.set(key, value, "combination");
  return read_config(settings, {}).has_value();
}

std::string row_name(const Combination& combination) {
  std::string text;
  for (const auto& [key, value] : combination) text += (text.empty() ? "" : " ") + value;
  return text;
}

}  // namespace starling::daemon
