#include "base/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/ini.h"
#include "base/text.h"

namespace starling {

std::string_view name(Scope scope) {
  return scope == Scope::own ? "own" : "agreed";
}

void Schema::add(Key key) {
  ENSURE(key.name.find('.') != std::string::npos, "a key has a section");
  ENSURE(find(key.name) == nullptr, "a key is described once");
  keys_.push_back(std::move(key));
}

const Key* Schema::find(std::string_view name) const {
  auto found = std::ranges::find(keys_, name, &Key::name);
  return found == keys_.end() ? nullptr : &*found;
}

namespace {

// "; did you mean topology.kind?", when one is close.
std::string suggestion(const Schema& schema, std::string_view name) {
  std::vector<std::string> names;
  for (const Key& key : schema.keys()) names.push_back(key.name);
  const std::string best = nearest(name, names);
  return best.empty() ? "; `starling config` lists every key"
                      : fmt::format("; did you mean {}?", best);
}

// topology.learning-rate <-> STARLING_TOPOLOGY_LEARNING_RATE
std::string environment_name(std::string_view key) {
  std::string name = "STARLING_";
  for (char c : key)
    name += c == '.' || c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
  return name;
}

}  // namespace

Settings::Settings(const Schema& schema) : schema_(&schema) {
  for (const Key& key : schema.keys()) values_[key.name] = {key.initial, "default"};
}

const Setting& Settings::at(std::string_view name) const {
  auto found = values_.find(name);
  ENSURE(found != values_.end(), name);
  return found->second;
}

void Settings::set(std::string_view name, std::string value, std::string origin) {
  auto found = values_.find(name);
  ENSURE(found != values_.end(), name);
  found->second = {std::move(value), std::move(origin)};
}

void Settings::apply(const std::string& name, const std::vector<std::string>& values,
                     const std::string& origin, std::vector<std::string>& mistakes) {
  const Key* key = schema_->find(name);
  if (!key) {
    mistakes.push_back(
        fmt::format("{}: unknown key {}{}", origin, name, suggestion(*schema_, name)));
    return;
  }
  if (values.size() > 1 && !key->list) {
    mistakes.push_back(fmt::format("{}: {} is given {} times", origin, name, values.size()));
    return;
  }
  set(name, fmt::format("{}", fmt::join(values, ",")), origin);
}

void Settings::read_file(const SettingSources::File& file, std::vector<std::string>& mistakes) {
  for (const IniEntry& entry : parse_ini(file.name, file.text, mistakes))
    apply(entry.name, entry.values, file.name, mistakes);
}

void Settings::read_environment(std::span<const SettingSources::Pair> variables,
                                std::vector<std::string>& mistakes) {
  for (const Key& key : schema_->keys()) {
    const std::string name = environment_name(key.name);
    const auto found = std::ranges::find(variables, name, &SettingSources::Pair::first);
    if (found != variables.end()) apply(key.name, {found->second}, name, mistakes);
  }
}

void Settings::read_keys(std::span<const SettingSources::Pair> keys,
                         std::vector<std::string>& mistakes) {
  for (const auto& [name, value] : keys) {
    const Key* key = schema_->find(name);
    const bool appends = key && key->list && at(name).origin == "command line";
    apply(name, {appends ? text(name) + "," + value : value}, "command line", mistakes);
  }
}

std::vector<std::string> unknown_variables(const Schema& schema,
                                           std::span<const SettingSources::Pair> variables) {
  // Those of the clients of trainers, whose environment a node may share.
  std::vector<std::string> known{"STARLING_LIFE",      "STARLING_NODE",   "STARLING_PROGRAM",
                                 "STARLING_SLOW_BLAS", "STARLING_SOCKET", "STARLING_STAGING"};
  std::vector<std::string> unknown;
  for (const Key& key : schema.keys()) known.push_back(environment_name(key.name));
  for (const auto& [name, value] : variables) {
    if (!name.starts_with("STARLING_") || std::ranges::find(known, name) != known.end()) continue;
    const std::string best = nearest(name, known);
    unknown.push_back(name + ": no key has this name, and it is not used" +
                      (best.empty() ? "" : "; did you mean " + best + "?"));
  }
  std::ranges::sort(unknown);
  return unknown;
}

Settings gather_settings(const Schema& schema, const SettingSources& sources,
                         std::vector<std::string>& mistakes) {
  Settings settings(schema);
  if (sources.file) settings.read_file(*sources.file, mistakes);
  settings.read_environment(sources.variables, mistakes);
  settings.read_keys(sources.keys, mistakes);
  return settings;
}

Result<Settings> load_settings(const Schema& schema, const SettingSources& sources) {
  std::vector<std::string> mistakes;
  Settings settings = gather_settings(schema, sources, mistakes);
  if (!mistakes.empty()) return fail("{}", fmt::join(mistakes, "\n"));
  return settings;
}

std::vector<std::string> Reader::list(std::string_view name) const {
  return split(text(name), ',');
}

double Reader::number(std::string_view name, double low, double high) {
  const std::optional<double> value = parse_number(text(name));
  if (!value || *value < low || *value > high) {
    mistake(name, fmt::format("expected a number from {} to {}", low, high));
    return low;
  }
  return *value;
}

std::int64_t Reader::integer(std::string_view name, std::int64_t low, std::int64_t high) {
  const std::optional<std::int64_t> value = parse_integer(text(name));
  if (!value || *value < low || *value > high) {
    mistake(name, fmt::format("expected a whole number from {} to {}", low, high));
    return low;
  }
  return *value;
}

double Reader::seconds(std::string_view name, double low, double high) {
  const std::optional<double> value = parse_seconds(text(name));
  if (!value || *value < low || *value > high) {
    mistake(name, fmt::format("expected a duration from {} to {} s, such as 30, 500ms, 10m or 1h",
                              low, high));
    return low;
  }
  return *value;
}

bool Reader::flag(std::string_view name) {
  static constexpr std::string_view kWords[] = {"false", "no", "off", "true", "yes", "on"};
  return choice(name, kWords) >= 3;
}

std::size_t Reader::choice(std::string_view name, std::span<const std::string_view> allowed) {
  const auto found = std::ranges::find(allowed, text(name));
  if (found != allowed.end()) return static_cast<std::size_t>(found - allowed.begin());
  mistake(name, fmt::format("expected one of {}", fmt::join(allowed, ", ")));
  return 0;
}

void Reader::mistake(std::string_view name, std::string_view problem) {
  const Setting& setting = settings_->at(name);
  mistakes_.push_back(
      fmt::format("{}: {} = \"{}\": {}", setting.origin, name, setting.value, problem));
}

Result<void> Reader::verdict() const {
  if (mistakes_.empty()) return {};
  return fail("{}", fmt::join(mistakes_, "\n"));
}

}  // namespace starling
