// Bindings: each key of a struct of options is stated once: its name, the member that holds it, the
// values it may take, whether nodes must agree on it, and its help. From that statement follow the
// entry in the schema, the reading with its checks, the text of the value, and the agreement. To
// add a key: a member of its struct of options, one bind() in its layer's bindings(), a row in
// tests/daemon/agreement_test.cpp if nodes must agree on it.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/settings.h"
#include "base/time.h"

namespace starling {

// ---- The values that a key may take. A form reads a value, reports what is wrong with the text,
// and prints the value; equal values print alike. If all values have names, it lists them.

// A number; a Duration is read with its unit. An empty text means none, if the number is optional.
struct Real {
  double low, high;

  void read(Reader& reader, std::string_view name, double& value) const {
    value = reader.number(name, low, high);
  }
  void read(Reader& reader, std::string_view name, Duration& value) const {
    value = from_seconds(reader.seconds(name, low, high));
  }
  void read(Reader& reader, std::string_view name, std::optional<double>& value) const {
    value.reset();
    if (!reader.text(name).empty()) value = reader.number(name, low, high);
  }
  std::string print(double value) const { return fmt::format("{}", value); }
  std::string print(Duration value) const { return print(seconds(value)); }
  std::string print(const std::optional<double>& value) const { return value ? print(*value) : ""; }
};

// A duration as a number of seconds.
struct Seconds {
  double low, high;

  void read(Reader& reader, std::string_view name, double& value) const {
    value = reader.seconds(name, low, high);
  }
  std::string print(double value) const { return fmt::format("{}", value); }
};

struct Whole {
  std::int64_t low, high;

  template <class T>
  void read(Reader& reader, std::string_view name, T& value) const {
    value = static_cast<T>(reader.integer(name, low, high));
  }
  template <class T>
  std::string print(T value) const {
    return fmt::format("{}", value);
  }
};

// An enumeration, whose names are given in its order.
struct OneOf {
  std::span<const std::string_view> names;

  template <class T>
  void read(Reader& reader, std::string_view name, T& value) const {
    value = static_cast<T>(reader.choice(name, names));
  }
  template <class T>
  std::string print(T value) const {
    return std::string(names[static_cast<std::size_t>(value)]);
  }
  std::vector<std::string> choices() const { return {names.begin(), names.end()}; }
};

// A row of a table, read by its name or its `alias`, printed by its name. `auto`, if allowed, is
// null.
template <class Row>
struct OneRow {
  std::span<const Row> rows;
  bool has_auto = false;

  void read(Reader& reader, std::string_view name, const Row*& value) const {
    std::vector<std::string_view> names;
    std::vector<const Row*> named;
    for_each([&](std::string_view row_name, const Row* row) {
      names.push_back(row_name);
      named.push_back(row);
    });
    value = named[reader.choice(name, names)];
  }
  std::string print(const Row* value) const { return std::string(value ? value->name : "auto"); }
  std::vector<std::string> choices() const {
    std::vector<std::string> names;
    for_each([&](std::string_view row_name, const Row*) { names.emplace_back(row_name); });
    return names;
  }

 private:
  // Every name with its row.
  template <class See>
  void for_each(See see) const {
    if (has_auto) see("auto", nullptr);
    for (const Row& row : rows) {
      see(row.name, &row);
      if constexpr (requires { row.alias; })
        if (!row.alias.empty()) see(row.alias, &row);
    }
  }
};

// "HELP, NAME (ITS HELP), NAME or ALIAS (ITS HELP)".
template <class Row>
std::string help_of(std::string help, std::span<const Row> rows) {
  for (const Row& row : rows) {
    help += fmt::format(", {}", row.name);
    if constexpr (requires { row.alias; })
      if (!row.alias.empty()) help += fmt::format(" or {}", row.alias);
    help += fmt::format(" ({})", row.help);
  }
  return help;
}

// A bool.
struct Flag {
  void read(Reader& reader, std::string_view name, bool& value) const { value = reader.flag(name); }
  std::string print(bool value) const { return value ? "true" : "false"; }
  std::vector<std::string> choices() const { return {"false", "true"}; }
};
inline constexpr Flag kFlag{};

// Any text, or a list of texts.
struct Text {
  void read(Reader& reader, std::string_view name, std::string& value) const {
    value = reader.text(name);
  }
  void read(Reader& reader, std::string_view name, std::vector<std::string>& value) const {
    value = reader.list(name);
  }
  std::string print(const std::string& value) const { return value; }
  std::string print(const std::vector<std::string>& values) const {
    return fmt::format("{}", fmt::join(values, ","));
  }
};

// A value with functions of its own: text -> Result<T>, and T -> text.
template <class Parse, class Print>
struct Written {
  Parse parse;
  Print to_text;

  template <class T>
  void read(Reader& reader, std::string_view name, T& value) const {
    if (auto parsed = parse(reader.text(name)))
      value = *std::move(parsed);
    else
      reader.mistake(name, parsed.error().text);
  }
  template <class T>
  std::string print(const T& value) const {
    return to_text(value);
  }
};
// clang deduces for an aggregate from 17 on.
template <class Parse, class Print>
Written(Parse, Print) -> Written<Parse, Print>;

// The member of a member: at(&Options::goal, &Goal::rounds).
template <class Outer, class Inner>
auto at(Outer outer, Inner inner) {
  return [=](auto& options) -> auto& {
    return std::invoke(inner, std::invoke(outer, options));
  };
}

// ---- The bindings of one struct, in the order in which its keys are described and read.
template <class Options>
class Bindings {
 public:
  using Read = std::function<void(Reader&, Options&)>;
  using Print = std::function<std::optional<std::string>(const Options&)>;

  // `member` is a pointer to a member, or a function from options to a reference into them. The
  // default is the struct's initial value, unless initially() sets it.
  template <class Member, class Form>
  Bindings& bind(std::string name, Member member, Form form, Scope scope, std::string help) {
    using T = std::remove_cvref_t<std::invoke_result_t<Member, Options&>>;
    std::vector<std::string> choices;
    if constexpr (requires { form.choices(); }) choices = form.choices();
    return add(
        {.name = name,
         .initial = form.print(std::as_const(std::invoke(member, defaults_))),
         .help = std::move(help),
         .list = std::is_same_v<T, std::vector<std::string>>,
         .scope = scope,
         .choices = std::move(choices)},
        [=](Reader& reader, Options& options) {
          form.read(reader, name, std::invoke(member, options));
        },
        [=](const Options& options) { return form.print(std::invoke(member, options)); });
  }
  // For a key that no form reads. An agreed key needs `print`.
  Bindings& add(Key key, Read read, Print print = nullptr) {
    ENSURE(print || key.scope == Scope::own, "an agreed key is compared by its text");
    bindings_.push_back({std::move(key), std::move(read), std::move(print)});
    return *this;
  }
  // The default of the last key, as a user would write it.
  Bindings& initially(std::string text) {
    bindings_.back().key.initial = std::move(text);
    return *this;
  }
  // A running node can take another value of the last key.
  Bindings& live() {
    bindings_.back().key.is_live = true;
    return *this;
  }
  // The names of all values of the last key, which has no form.
  template <class Names>
  Bindings& among(const Names& names) {
    bindings_.back().key.choices.assign(std::begin(names), std::end(names));
    return *this;
  }
  // `print` gives the part of the last key's value that nodes must agree on; an empty text if the
  // other options make the key irrelevant.
  Bindings& agrees_on(Print print) {
    bindings_.back().print = std::move(print);
    return *this;
  }

  void describe(Schema& schema) const {
    for (const Binding& binding : bindings_) schema.add(binding.key);
  }
  void read(Reader& reader, Options& options) const {
    for (const Binding& binding : bindings_) binding.read(reader, options);
  }
  // The agreed keys and their values.
  std::vector<Term> agreed(const Options& options) const {
    std::vector<Term> terms;
    for (const Binding& binding : bindings_) {
      if (binding.key.scope == Scope::own) continue;
      if (auto value = binding.print(options)) terms.emplace_back(binding.key.name, *value);
    }
    return terms;
  }

 private:
  struct Binding {
    Key key;
    Read read;
    Print print;
  };
  Options defaults_{};
  std::vector<Binding> bindings_;
};

}  // namespace starling
