#include "base/bindings.h"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

using namespace starling;

namespace {

enum class Color { red, green };
constexpr std::array<std::string_view, 2> kColors{"red", "green"};

struct Brush {
  double width = 0.5;
};
struct Options {
  Color color = Color::green;
  std::uint64_t count = 3;
  Duration pause = std::chrono::milliseconds(1);
  std::optional<double> limit = {};
  bool is_wet = true;
  std::string title = {};
  std::vector<std::string> names = {};
  Brush brush = {};
};

Result<std::uint64_t> parse_dozen(std::string_view text) {
  if (text == "dozen") return 12;
  return fail("expected dozen");
}

const Bindings<Options>& bindings() {
  static const auto kBindings = [] {
    using enum Scope;
    Bindings<Options> all;
    all.bind("a.color", &Options::color, OneOf{kColors}, agreed, "color")
        .bind("a.count", &Options::count, Whole{0, 9}, own, "count")
        .bind("a.pause", &Options::pause, Real{0, 10}, agreed, "pause")
        .bind("a.limit", &Options::limit, Real{0, 1}, agreed, "limit")
        .bind("a.wet", &Options::is_wet, kFlag, own, "wet")
        .bind("a.title", &Options::title, Text{}, agreed, "title")
        .agrees_on([](const Options& options) { return options.title.substr(0, 1); })
        .bind("a.names", &Options::names, Text{}, own, "names")
        .bind("a.width", at(&Options::brush, &Brush::width), Real{0, 1}, agreed, "width");
    return all;
  }();
  return kBindings;
}

Schema schema() {
  Schema schema;
  bindings().describe(schema);
  return schema;
}

}  // namespace

TEST_CASE("The default of a bound key is that of the struct") {
  const Schema keys = schema();
  std::string text;
  for (const Key& key : keys.keys()) text += key.name + "=" + key.initial + " ";
  CHECK(text ==
        "a.color=green a.count=3 a.pause=0.001 a.limit= a.wet=true a.title= a.names= "
        "a.width=0.5 ");
  CHECK(keys.find("a.names")->list);
  CHECK_FALSE(keys.find("a.title")->list);
  CHECK(keys.find("a.color")->scope == Scope::agreed);
  Bindings<Options> other;
  other
      .bind("b.count", &Options::count, Written{parse_dozen, [](auto) { return "dozen"; }},
            Scope::own, "")
      .initially("auto");
  Schema more;
  other.describe(more);
  CHECK(more.find("b.count")->initial == "auto");
}

TEST_CASE("A bound key is read into its member") {
  const Schema keys = schema();
  Settings settings(keys);
  std::vector<std::string> mistakes;
  const std::vector<SettingSources::Pair> given = {
      {"a.color", "red"}, {"a.count", "7"},   {"a.pause", "2.5"}, {"a.limit", "0.25"},
      {"a.wet", "false"}, {"a.title", "sky"}, {"a.names", "x,y"}, {"a.width", "1"}};
  settings.read_keys(given, mistakes);
  Reader reader(settings, mistakes);
  Options options;
  bindings().read(reader, options);
  CHECK(reader.verdict().has_value());
  CHECK(options.color == Color::red);
  CHECK(options.count == 7);
  CHECK(options.pause == std::chrono::milliseconds(2500));
  CHECK(options.limit == 0.25);
  CHECK_FALSE(options.is_wet);
  CHECK(options.names == std::vector<std::string>{"x", "y"});
  CHECK(options.brush.width == 1);
}

TEST_CASE("Agreed keys are printed from their values however these were written") {
  const Schema keys = schema();
  const auto agreed = [&](std::vector<SettingSources::Pair> given) {
    Settings settings(keys);
    std::vector<std::string> mistakes;
    settings.read_keys(given, mistakes);
    Reader reader(settings, mistakes);
    Options options;
    bindings().read(reader, options);
    CHECK(reader.verdict().has_value());
    return bindings().agreed(options);
  };
  CHECK(agreed({}) == std::vector<Term>{{"a.color", "green"},
                                        {"a.pause", "0.001"},
                                        {"a.limit", ""},
                                        {"a.title", ""},
                                        {"a.width", "0.5"}});
  CHECK(agreed({{"a.width", "0.10"}, {"a.limit", "1e0"}}) ==
        agreed({{"a.width", ".1"}, {"a.limit", "1"}}));
  CHECK(agreed({{"a.title", "sky"}}) == agreed({{"a.title", "sea"}}));
  CHECK(agreed({{"a.title", "sky"}}) != agreed({{"a.title", "ground"}}));
  CHECK(agreed({{"a.count", "4"}}) == agreed({}));
}

TEST_CASE("A bound key that is wrong is a mistake that says what was expected") {
  const Schema keys = schema();
  Settings settings(keys);
  std::vector<std::string> mistakes;
  const std::vector<SettingSources::Pair> given = {
      {"a.color", "blue"}, {"a.count", "10"}, {"a.limit", "2"}, {"a.wet", "maybe"}};
  settings.read_keys(given, mistakes);
  Reader reader(settings, mistakes);
  Options options;
  bindings().read(reader, options);
  CHECK(reader.mistakes() ==
        std::vector<std::string>{
            "command line: a.color = \"blue\": expected one of red, green",
            "command line: a.count = \"10\": expected a whole number from 0 to 9",
            "command line: a.limit = \"2\": expected a number from 0 to 1",
            "command line: a.wet = \"maybe\": expected one of false, no, off, true, yes, on"});
}
