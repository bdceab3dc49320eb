#include "base/settings.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "base/check.h"

namespace starling {

namespace po = boost::program_options;

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

// Optimal string alignment: letters inserted, removed, replaced, and neighbours swapped.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> above, row(b.size() + 1), next(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], above[j - 2] + 1);
    }
    above = std::exchange(row, next);
  }
  return row.back();
}

// The name that is nearest to what was written; empty where none is near: a third of the letters
// may be wrong, three at most.
std::string nearest(std::string_view written, const std::vector<std::string>& names) {
  std::string best;
  std::size_t limit = std::clamp<std::size_t>(written.size() / 3, 1, 3);
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(written, name);
    if (distance > limit || (distance == limit && !best.empty())) continue;
    best = name, limit = distance;
  }
  return best;
}

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

// Where the file has that text for a line, from 1 on; blanks around it and comments do not count.
std::size_t line_of(const std::string& path, std::string_view text) {
  std::ifstream stream(path);
  std::string line;
  for (std::size_t number = 1; std::getline(stream, line); ++number) {
    line.resize(std::min(line.size(), line.find('#')));
    if (trim(line) == text) return number;
  }
  return 0;
}

// Comments of other dialects, which would become part of a value, and values that a comment would
// cut.
void find_strange_comments(const std::string& path, std::vector<std::string>& mistakes) {
  std::ifstream stream(path);
  std::string line;
  for (std::size_t number = 1; std::getline(stream, line); ++number) {
    const std::size_t hash = line.find('#');
    const std::string_view content = trim(std::string_view(line).substr(0, hash));
    if (content.empty()) continue;
    if (content.starts_with(';') || content.find(" ;") != std::string_view::npos)
      mistakes.push_back(fmt::format("{}: line {}: \"{}\": a comment begins with #, not with ;",
                                     path, number, content));
    else if (hash != std::string::npos && line[hash - 1] != ' ' && line[hash - 1] != '\t')
      mistakes.push_back(fmt::format(
          "{}: line {}: \"{}\": what follows # is a comment; write a blank before it, and give a "
          "value that holds # by the environment or the command line",
          path, number, trim(line)));
  }
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

void Settings::read_file(const std::string& path, std::vector<std::string>& mistakes) {
  std::ifstream stream(path);
  if (!stream) {
    mistakes.push_back(fmt::format("{}: cannot be opened; expected an INI file", path));
    return;
  }
  try {
    const std::size_t known = mistakes.size();
    find_strange_comments(path, mistakes);
    if (mistakes.size() > known) return;
    const po::options_description none;
    std::vector<std::string> order;
    std::map<std::string, std::vector<std::string>> found;
    for (const po::option& option : po::parse_config_file(stream, none, true).options) {
      if (!found.contains(option.string_key)) order.push_back(option.string_key);
      for (const std::string& value : option.value) found[option.string_key].push_back(value);
    }
    // A folder opens like a file and fails on reading.
    if (stream.bad())
      mistakes.push_back(fmt::format("{}: cannot be read; expected an INI file", path));
    for (const std::string& name : order) apply(name, found[name], path, mistakes);
  } catch (const po::invalid_config_file_syntax& error) {
    mistakes.push_back(fmt::format("{}: line {}: \"{}\" is neither KEY = VALUE nor [SECTION]", path,
                                   line_of(path, error.tokens()), error.tokens()));
  } catch (const po::error& error) {
    mistakes.push_back(fmt::format("{}: {}", path, error.what()));
  }
}

void Settings::read_environment(std::vector<std::string>& mistakes) {
  for (const Key& key : schema_->keys()) {
    const std::string name = environment_name(key.name);
    if (const char* value = std::getenv(name.c_str())) apply(key.name, {value}, name, mistakes);
  }
}

std::vector<std::string> unknown_variables(const Schema& schema) {
  std::vector<std::string> known, unknown;
  for (const Key& key : schema.keys()) known.push_back(environment_name(key.name));
  for (char** item = environ; *item; ++item) {
    const std::string_view variable = *item;
    const std::string name(variable.substr(0, variable.find('=')));
    if (!name.starts_with("STARLING_") || std::ranges::find(known, name) != known.end()) continue;
    const std::string best = nearest(name, known);
    unknown.push_back(name + ": no key has this name, and it is not used" +
                      (best.empty() ? "" : "; did you mean " + best + "?"));
  }
  std::ranges::sort(unknown);
  return unknown;
}

std::optional<std::string> CommandLine::value(std::string_view name) const {
  auto found = options.find(name);
  if (found == options.end() || found->second.empty()) return std::nullopt;
  return found->second.back();
}

namespace {

bool is_key(std::string_view option) {
  return option.find('.') != std::string_view::npos;
}

// "; did you mean --watch?", when one is close.
std::string meant_option(std::string_view written, std::span<const CommandOption> options) {
  std::vector<std::string> names;
  for (const CommandOption& option : options)
    names.push_back(option.name.substr(0, option.name.find(',')));
  written.remove_prefix(std::min(written.find_first_not_of('-'), written.size()));
  const std::string best = nearest(written, names);
  return best.empty() ? "" : fmt::format("; did you mean --{}?", best);
}

}  // namespace

Result<CommandLine> parse_command_line(std::span<const std::string> arguments,
                                       std::span<const CommandOption> options) {
  po::options_description description;
  for (const CommandOption& option : options) {
    if (option.takes_value)
      description.add_options()(option.name.c_str(), po::value<std::vector<std::string>>(), "");
    else
      description.add_options()(option.name.c_str(), "");
  }
  // Keys are split off first: their names are the schema's business.
  CommandLine result;
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const std::size_t equals = argument.find('=');
    if (!argument.starts_with("--") || !is_key(argument.substr(0, equals))) {
      rest.push_back(argument);
    } else if (equals != std::string::npos) {
      result.keys.emplace_back(argument.substr(2, equals - 2), argument.substr(equals + 1));
    } else if (i + 1 < arguments.size()) {
      result.keys.emplace_back(argument.substr(2), arguments[i + 1]);
      ++i;
    } else {
      return fail("{} has no value; write {}=VALUE", argument, argument);
    }
  }
  try {
    const auto style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    const po::parsed_options parsed =
        po::command_line_parser(rest).options(description).style(style).run();
    for (const po::option& option : parsed.options) {
      if (option.position_key >= 0)
        result.positional.insert(result.positional.end(), option.value.begin(), option.value.end());
      else
        for (auto& values = result.options[option.string_key]; auto& value : option.value)
          values.push_back(value);
    }
  } catch (const po::unknown_option& error) {
    return fail("{}{}", error.what(), meant_option(error.get_option_name(), options));
  } catch (const po::error& error) {
    return fail("{}", error.what());
  }
  return result;
}

Settings gather_settings(const Schema& schema, const std::optional<std::string>& file,
                         std::span<const std::pair<std::string, std::string>> keys,
                         std::vector<std::string>& mistakes) {
  Settings settings(schema);
  if (file) settings.read_file(*file, mistakes);
  settings.read_environment(mistakes);
  for (const auto& [name, value] : keys) {
    const Key* key = schema.find(name);
    const bool appends = key && key->list && settings.at(name).origin == "command line";
    if (!key)
      mistakes.push_back(
          fmt::format("command line: unknown key {}{}", name, suggestion(schema, name)));
    else
      settings.set(name, appends ? settings.text(name) + "," + value : value, "command line");
  }
  return settings;
}

Result<Settings> load_settings(const Schema& schema, const std::optional<std::string>& file,
                               std::span<const std::pair<std::string, std::string>> keys) {
  std::vector<std::string> mistakes;
  Settings settings = gather_settings(schema, file, keys, mistakes);
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

bool Reader::flag(std::string_view name) {
  static constexpr std::string_view kWords[] = {"false", "true"};
  return choice(name, kWords) == 1;
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
