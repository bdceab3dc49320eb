#include "daemon/setup/live_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace starling::daemon {
namespace {

using nlohmann::json;

constexpr std::string_view kOrigin = "set while running";

// The names of all live keys.
std::string live_names(const Schema& schema) {
  std::vector<std::string_view> names;
  for (const Key& key : schema.keys())
    if (key.is_live) names.push_back(key.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// Those that a trainer of the user's own is told when it attaches.
bool is_of_trainer(std::string_view key) {
  return key.starts_with("optim.") && key != "optim.local-steps";
}

// What the protocol of a running node rests on.
Result<void> check_same(const Config& before, const Config& after) {
  const optim::AlgorithmRow &algorithm = *before.learner.optim.algorithm,
                            &next = *after.learner.optim.algorithm;
  if (before.learner.model.kind == models::ModelKind::external && &algorithm != &next)
    return fail(
        "optim.algorithm = {} would become {}, and the trainer was told the first when it "
        "attached; change it at the next start, of all nodes",
        algorithm.name, next.name);
  if (after.learner.optim.clip > 0 &&
      before.learner.optim.batch_size != after.learner.optim.batch_size)
    return fail(
        "optim.batch-size: with optim.clip epsilon is counted for one size; change it at the next "
        "start");
  return {};
}

}  // namespace

// Why the key cannot be changed; empty: it can.
std::string LiveSettings::refusal_of(const Term& change) const {
  const Schema& schema = settings_.schema();
  const Key* key = schema.find(change.first);
  if (!key)
    return fmt::format("{}: there is no such key; those of a running node are {}", change.first,
                       live_names(schema));
  if (!key->is_live)
    return fmt::format(
        "{}: a running node keeps its value; give it {} at the next start, {}; those that can be "
        "set are {}",
        key->name, change.second,
        key->scope == Scope::agreed ? "of all nodes, because they must agree on it"
                                    : "of this node",
        live_names(schema));
  if (config_.learner.model.kind == models::ModelKind::external && is_of_trainer(key->name))
    return fmt::format(
        "{}: the trainer takes its steps by itself, and was told this value when it attached; "
        "change it there",
        key->name);
  return {};
}

Result<Config> LiveSettings::with(std::span<const Term> terms) const {
  std::vector<std::string> refusals;
  Settings settings = settings_;
  // What followed from other settings at the start stays where nobody sets it.
  settings.set("optim.algorithm", std::string(config_.learner.optim.algorithm->name), "the start");
  settings.set("exchange.schedule", std::string(config_.node.schedule->name), "the start");
  for (const Term& term : terms)
    if (std::string refusal = refusal_of(term); !refusal.empty())
      refusals.push_back(std::move(refusal));
    else
      settings.set(term.first, term.second, std::string(kOrigin));
  if (!refusals.empty()) return fail("{}", fmt::join(refusals, "; "));
  TRY(Config config, read_again(std::move(settings), config_));
  TRY_DO(check_same(config_, config));
  return config;
}

Result<gossip::ConfigureCommand> LiveSettings::command(
    std::span<const Term> changes, const gossip::SettingsStatus& now, std::uint64_t round,
    const std::optional<std::string>& at_round) const {
  std::map<std::string, std::string> values;
  for (const gossip::SettingChange& change : now.changes)
    for (const auto& [key, value] : change.terms) values[key] = value;
  for (const gossip::SettingsStatus::Own& own : now.own) values[own.term.first] = own.term.second;
  for (const auto& [key, value] : changes) values[key] = value;
  TRY_DO(with(std::vector<Term>(values.begin(), values.end())));
  gossip::ConfigureCommand command;
  for (const Term& change : changes) {
    const bool is_own = settings_.schema().find(change.first)->scope == Scope::own;
    (is_own ? command.own : command.agreed).push_back(change);
  }
  if (!at_round) return command;
  if (command.agreed.empty()) return fail("at-round: this node's own settings hold at once");
  const std::uint64_t first = round + 1, last = round + gossip::kFarthestAhead;
  command.at_round = parse_exactly<std::uint64_t>(*at_round).value_or(0);
  if (command.at_round < first || command.at_round > last)
    return fail(
        "at-round={}: this node has finished round {}; expected a round from {} to {}, or none for "
        "as soon as all can know of it",
        *at_round, round, first, last);
  return command;
}

json LiveSettings::to_json(const gossip::SettingsStatus& now, std::uint64_t round) const {
  json document = json::object();
  for (const Key& key : settings_.schema().keys()) {
    if (!key.is_live) continue;
    const Setting& setting = settings_.at(key.name);
    document[key.name] = {{"value", setting.value},
                          {"scope", name(key.scope)},
                          {"origin", setting.origin},
                          {"since_round", 0}};
  }
  for (const gossip::SettingChange& change : now.changes)
    for (const auto& [key, value] : change.terms) {
      if (!document.contains(key)) continue;  // of a later version
      json& entry = document[key];
      if (change.round > round + 1) {
        entry["next"].push_back(
            {{"value", value}, {"from_round", change.round}, {"by", change.author}});
        continue;
      }
      entry["value"] = value;
      entry["origin"] = kOrigin;
      entry["since_round"] = change.round;
      entry["by"] = change.author;
    }
  for (const auto& [term, since] : now.own) {
    json& entry = document[term.first];
    entry["value"] = term.second;
    entry["origin"] = kOrigin;
    entry["since_round"] = since;
  }
  return document;
}

gossip::Reconfigure reconfigure_by(std::shared_ptr<const LiveSettings> settings) {
  return [settings =
              std::move(settings)](std::span<const Term> terms) -> Result<gossip::Reconfigured> {
    TRY(Config config, settings->with(terms));
    return gossip::Reconfigured{
        std::make_shared<const gossip::Options>(std::move(config.node)),
        std::make_shared<const optim::Options>(std::move(config.learner.optim))};
  };
}

}  // namespace starling::daemon
