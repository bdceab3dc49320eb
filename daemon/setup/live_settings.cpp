#include "daemon/setup/live_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace starling::daemon {
namespace {

constexpr std::string_view kOrigin = "set while running";

// The names of all live keys.
std::string live_names(const Schema& schema) {
  std::vector<std::string_view> names;
  for (const Key& key : schema.keys())
    if (key.is_live) names.push_back(key.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// Why the key cannot be changed; empty: it can.
std::string refusal_of(const Schema& schema, const Term& change) {
  const Key* key = schema.find(change.first);
  if (!key)
    return fmt::format("{}: there is no such key; those of a running node are {}", change.first,
                       live_names(schema));
  if (key->is_live) return {};
  return fmt::format(
      "{}: a running node keeps its value; give it {} at the next start, {}; those that can be set "
      "are {}",
      key->name, change.second,
      key->scope == Scope::agreed ? "of all nodes, because they must agree on it" : "of this node",
      live_names(schema));
}

Settings with(Settings settings, std::span<const Term> changes) {
  for (const auto& [name, value] : changes) settings.set(name, value, std::string(kOrigin));
  return settings;
}

}  // namespace

Result<Config> LiveSettings::tried(std::span<const Term> changes) const {
  std::vector<std::string> refusals;
  for (const Term& change : changes)
    if (std::string refusal = refusal_of(settings_.schema(), change); !refusal.empty())
      refusals.push_back(std::move(refusal));
  const Settings settings = with(settings_, refusals.empty() ? changes : std::span<const Term>());
  Reader reader(settings);
  Config config = read_values(reader);
  std::ranges::copy(reader.mistakes(), std::back_inserter(refusals));
  if (!refusals.empty()) return fail("{}", fmt::join(refusals, "; "));
  return config;
}

void LiveSettings::take(std::span<const Term> changes, std::uint64_t round) {
  settings_ = with(std::move(settings_), changes);
  for (const Term& change : changes) since_[change.first] = round;
}

nlohmann::json LiveSettings::to_json() const {
  nlohmann::json document = nlohmann::json::object();
  for (const Key& key : settings_.schema().keys()) {
    if (!key.is_live) continue;
    const Setting& setting = settings_.at(key.name);
    const auto since = since_.find(key.name);
    document[key.name] = {{"value", setting.value},
                          {"scope", name(key.scope)},
                          {"origin", setting.origin},
                          {"since_round", since == since_.end() ? 0 : since->second}};
  }
  return document;
}

}  // namespace starling::daemon
