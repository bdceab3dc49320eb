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
#include <utility>
#include <vector>

#include "base/result.h"

namespace starling {

// Whether each node may have its own value, or nodes that train together must have the same.
enum class Scope { own, agreed };
// "own", "agreed".
std::string_view name(Scope scope);

// An agreed key and its value, printed so that equal values have equal texts.
using Term = std::pair<std::string, std::string>;

struct Key {
  std::string name;     // section.key
  std::string initial;  // default, as a user would write it
  std::string help;     // formula, unit, and what hurts when larger or smaller
  bool list = false;    // may be given several times, or separated by commas
  Scope scope = Scope::own;
  std::vector<std::string> choices{};  // all values that it may take, where they have names
  bool is_live = false;                // a running node can take another value
};

class Schema {
 public:
  // REQUIRES a name with a section that is not taken yet.
  void add(Key key);
  const Key* find(std::string_view name) const;
  // In the order of addition: section by section.
  const std::vector<Key>& keys() const { return keys_; }

 private:
  std::vector<Key> keys_;
};

struct Setting {
  std::string value;
  std::string origin;  // "default", "configs/ring.ini", "STARLING_…" or "command line"
};

// Texts that hold values, the later over the earlier.
struct SettingSources {
  using Pair = std::pair<std::string, std::string>;
  struct File {
    std::string name;
    std::string text;  // INI
  };

  std::optional<File> file{};
  std::vector<Pair> variables{};  // of the whole environment
  std::vector<Pair> keys{};       // of the command line: section.key and value
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

  // Each reads one source over the present values. Unknown keys are mistakes, one line each.
  void read_file(const SettingSources::File& file, std::vector<std::string>& mistakes);
  void read_environment(std::span<const SettingSources::Pair> variables,
                        std::vector<std::string>& mistakes);
  void read_keys(std::span<const SettingSources::Pair> keys, std::vector<std::string>& mistakes);

 private:
  void apply(const std::string& name, const std::vector<std::string>& values,
             const std::string& origin, std::vector<std::string>& mistakes);

  const Schema* schema_;
  std::map<std::string, Setting, std::less<>> values_;
};

// One mistake for each variable that looks like a key but is none.
std::vector<std::string> unknown_variables(const Schema& schema,
                                           std::span<const SettingSources::Pair> variables);

// The effective settings. `mistakes` gets what cannot be read, to be passed to a Reader.
Settings gather_settings(const Schema& schema, const SettingSources& sources,
                         std::vector<std::string>& mistakes);
// The same, with the mistakes as the error, one a line.
Result<Settings> load_settings(const Schema& schema, const SettingSources& sources);

// Turns texts into checked values and collects what is wrong with them.
class Reader {
 public:
  // `mistakes`: from gather_settings().
  explicit Reader(const Settings& settings, std::vector<std::string> mistakes = {})
      : settings_(&settings), mistakes_(std::move(mistakes)) {}

  const std::string& text(std::string_view name) const { return settings_->text(name); }
  std::vector<std::string> list(std::string_view name) const;
  double number(std::string_view name, double low, double high);
  // A duration in seconds: "30", or with a unit of ms, s, m, h or d, as "500ms" and "1h".
  double seconds(std::string_view name, double low, double high);
  std::int64_t integer(std::string_view name, std::int64_t low, std::int64_t high);
  // true, yes or on; false, no or off.
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

}  // namespace starling
