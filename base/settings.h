// Settings: every key the program knows, the value it has and where that value comes from.
//
// A layer describes its keys in a Schema and reads them through a Reader. Values come from the
// default, then a file (INI), then the environment (STARLING_SECTION_KEY), then the command line
// (--section.key=value); the later wins. Mistakes are collected, so that all are reported at once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace starling {

struct Key {
  std::string name;     // section.key
  std::string initial;  // default, as a user would write it
  std::string help;     // formula, unit, and what hurts when larger or smaller
  bool list = false;    // may be given several times, or separated by commas
};

class Schema {
 public:
  // REQUIRES a name with a section that is not taken yet.
  void add(Key key);
  const Key* find(std::string_view name) const;
  // In the order of their adding: section by section.
  const std::vector<Key>& keys() const { return keys_; }

 private:
  std::vector<Key> keys_;
};

struct Setting {
  std::string value;
  std::string origin;  // "default", "configs/ring.ini", "STARLING_…" or "command line"
};

class Settings {
 public:
  // Every key of the schema at its default.
  explicit Settings(const Schema& schema);

  // REQUIRES a key of the schema (our code names it, not the user).
  const std::string& text(std::string_view name) const { return at(name).value; }
  bool is_default(std::string_view name) const { return at(name).origin == "default"; }
  const Setting& at(std::string_view name) const;
  const Schema& schema() const { return *schema_; }
  void set(std::string_view name, std::string value, std::string origin);

  // Each reads one source over what is there. Unknown keys are mistakes, one line each.
  void read_file(const std::string& path, std::vector<std::string>& mistakes);
  void read_environment(std::vector<std::string>& mistakes);

 private:
  void apply(const std::string& name, const std::vector<std::string>& values,
             const std::string& origin, std::vector<std::string>& mistakes);

  const Schema* schema_;
  std::map<std::string, Setting, std::less<>> values_;
};

// What a command takes besides keys: "config,c" has the short form -c.
// What is wrong with the variables of the environment that look like keys, and are none.
std::vector<std::string> unknown_variables(const Schema& schema);

struct CommandOption {
  std::string name;
  std::string help;
  bool takes_value = true;
};

struct CommandLine {
  std::map<std::string, std::vector<std::string>, std::less<>> options;
  std::vector<std::string> positional;
  std::vector<std::pair<std::string, std::string>> keys;  // --section.key=value, in order

  bool has(std::string_view name) const { return options.find(name) != options.end(); }
  std::optional<std::string> value(std::string_view name) const;
};

// Splits a command's arguments; complains about options the command does not take.
Result<CommandLine> parse_command_line(std::span<const std::string> arguments,
                                       std::span<const CommandOption> options);

// The effective settings: defaults, then `file` if any, then the environment, then `keys`. What
// cannot be read is left out and said in `mistakes`, for a Reader that finds what else is wrong.
Settings gather_settings(const Schema& schema, const std::optional<std::string>& file,
                         std::span<const std::pair<std::string, std::string>> keys,
                         std::vector<std::string>& mistakes);
// The same, for those who have nothing to add: the error holds every mistake, one a line.
Result<Settings> load_settings(const Schema& schema, const std::optional<std::string>& file,
                               std::span<const std::pair<std::string, std::string>> keys);

// Turns texts into checked values and collects what is wrong with them.
class Reader {
 public:
  // `mistakes` are those made before, in gathering the settings.
  explicit Reader(const Settings& settings, std::vector<std::string> mistakes = {})
      : settings_(&settings), mistakes_(std::move(mistakes)) {}

  const std::string& text(std::string_view name) const { return settings_->text(name); }
  std::vector<std::string> list(std::string_view name) const;
  double number(std::string_view name, double low, double high);
  std::int64_t integer(std::string_view name, std::int64_t low, std::int64_t high);
  bool flag(std::string_view name);
  // The index of the value among `allowed`; 0 after a mistake.
  std::size_t choice(std::string_view name, std::span<const std::string_view> allowed);
  bool is_default(std::string_view name) const { return settings_->is_default(name); }

  // "configs/ring.ini: topology.degree=x: …": the caller says what is wrong and what is allowed.
  void mistake(std::string_view name, std::string_view problem);
  const std::vector<std::string>& mistakes() const { return mistakes_; }
  // An error with every mistake, one a line, if there is any.
  Result<void> verdict() const;

 private:
  const Settings* settings_;
  std::vector<std::string> mistakes_;
};

// Whole-text conversions: nothing when a character is left over or the number is not finite.
std::optional<double> parse_number(std::string_view text);
std::optional<std::int64_t> parse_integer(std::string_view text);
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);

}  // namespace starling
