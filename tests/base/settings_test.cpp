#include "base/settings.h"

#include <doctest/doctest.h>

#include "base/command_line.h"
#include "base/text.h"

using namespace starling;

namespace {

using Keys = std::vector<std::pair<std::string, std::string>>;
using Lines = std::vector<std::string>;

Schema schema_of_tests() {
  Schema schema;
  schema.add({"node.name", "alone", "who"});
  schema.add({"optim.learning-rate", "0.1", "how far"});
  schema.add({"cluster.join", "", "whom", true});
  schema.add({"http.open", "false", "whether"});
  return schema;
}

constexpr char kFile[] = "site.ini";

// A command that takes these.
ProgramCommand taking(std::span<const CommandOption> options, std::string_view settings,
                      std::span<const std::string_view> arguments = {}) {
  return {.name = "fly",
          .summary = "to the south",
          .usage = "starling fly",
          .description = "Flies.",
          .options = options,
          .settings = settings,
          .arguments = arguments};
}

SettingSources::File ini(const std::string& text) {
  return {kFile, text};
}

Lines mistakes_of(const Schema& schema, const SettingSources& sources) {
  const Result<Settings> settings = load_settings(schema, sources);
  return settings ? Lines{} : split(settings.error().text, '\n');
}

}  // namespace

TEST_CASE("The command line beats the environment which beats the file which beats the default") {
  const Schema schema = schema_of_tests();
  const SettingSources::File file = ini("[optim]\nlearning-rate = 0.2\n[node]\nname = filed\n");
  const std::string key = "optim.learning-rate", variable = "STARLING_OPTIM_LEARNING_RATE";
  const auto setting = [&](const SettingSources& sources) {
    return load_settings(schema, sources).value().at("optim.learning-rate");
  };
  CHECK(setting({}).origin == "default");
  CHECK(setting({}).value == "0.1");
  CHECK(setting({.file = file}).origin == kFile);
  CHECK(setting({.file = file}).value == "0.2");
  const Keys variables = {{"HOME", "/"}, {variable, "0.3"}};
  CHECK(setting({.file = file, .variables = variables}).origin == variable);
  CHECK(setting({.file = file, .variables = variables}).value == "0.3");
  CHECK(setting({file, variables, {{key, "0.4"}}}).origin == "command line");
  CHECK(setting({file, variables, {{key, "0.4"}}}).value == "0.4");
  CHECK(load_settings(schema, {.file = file})->text("node.name") == "filed");
}

TEST_CASE("An unknown key is answered with the one that was meant") {
  const Schema schema = schema_of_tests();
  CHECK(mistakes_of(schema, {.keys = {{"optim.lerning-rate", "1"}}}) ==
        Lines{"command line: unknown key optim.lerning-rate; did you mean optim.learning-rate?"});
  CHECK(mistakes_of(schema, {.keys = {{"weather.today", "1"}}}) ==
        Lines{"command line: unknown key weather.today; `starling config` lists every key"});
  CHECK(mistakes_of(schema, {.keys = {{"a.b", "1"}}}) ==
        Lines{"command line: unknown key a.b; `starling config` lists every key"});
  CHECK(mistakes_of(schema, {.file = ini("foo = 1\n")}) ==
        Lines{"site.ini: unknown key foo; `starling config` lists every key"});
}

TEST_CASE("All mistakes are reported at once") {
  const Schema schema = schema_of_tests();
  const SettingSources::File file = ini("[node]\nnme = x\nname = a\nname = b\n[optim]\nrate = 1\n");
  const Lines mistakes = mistakes_of(schema, {.file = file, .keys = {{"htp.open", "true"}}});
  REQUIRE(mistakes.size() == 4);
  CHECK(mistakes[0] == "site.ini: unknown key node.nme; did you mean node.name?");
  CHECK(mistakes[1] == "site.ini: node.name is given 2 times");
  CHECK(mistakes[2].starts_with("site.ini: unknown key optim.rate"));
  CHECK(mistakes[3] == "command line: unknown key htp.open; did you mean http.open?");
}

TEST_CASE("A line that is neither a key nor a section is a mistake with its number") {
  const Schema schema = schema_of_tests();
  CHECK(mistakes_of(schema, {.file = ini("[node]\nname\n")}) ==
        Lines{"site.ini: line 2: \"name\" is neither KEY = VALUE nor [SECTION]"});
}

TEST_CASE("A variable that looks like a key and is none is named with the one that was meant") {
  const Schema schema = schema_of_tests();
  CHECK(unknown_variables(schema, {}).empty());
  const Keys variables = {{"STARLING_OPTIM_LEARNING_RATE", "1"},
                          {"STARLING_WEATHER", "1"},
                          {"STARLING_SOCKET", "/run/starling.sock"},
                          {"STARLING_OPTIM_LERNING_RATE", "1"},
                          {"STAR", "1"}};
  CHECK(unknown_variables(schema, variables) ==
        Lines{"STARLING_OPTIM_LERNING_RATE: no key has this name, and it is not used; did you mean "
              "STARLING_OPTIM_LEARNING_RATE?",
              "STARLING_WEATHER: no key has this name, and it is not used"});
}

TEST_CASE("A list is given several times or with commas") {
  const Schema schema = schema_of_tests();
  const SettingSources::File file = ini("[cluster]\njoin = a:1\njoin = b:2, c:3\n");
  const auto joined = [&](const Keys& keys) {
    const Settings settings = load_settings(schema, {.file = file, .keys = keys}).value();
    return Reader(settings).list("cluster.join");
  };
  CHECK(joined({}) == Lines{"a:1", "b:2", "c:3"});
  CHECK(joined({{"cluster.join", "d:4"}}) == Lines{"d:4"});
  CHECK(joined({{"cluster.join", "d:4"}, {"cluster.join", "e:5,f:6"}}) ==
        Lines{"d:4", "e:5", "f:6"});
}

TEST_CASE("A reader says what each value should have been") {
  const Schema schema = schema_of_tests();
  const Settings settings =
      load_settings(schema, {.keys = {{"optim.learning-rate", "fast"}, {"http.open", "ja"}}})
          .value();
  Reader reader(settings);
  CHECK(reader.number("optim.learning-rate", 0, 10) == 0);
  CHECK_FALSE(reader.flag("http.open"));
  CHECK(reader.mistakes() ==
        Lines{"command line: optim.learning-rate = \"fast\": expected a number from 0 to 10",
              "command line: http.open = \"ja\": expected one of false, no, off, true, yes, on"});
  CHECK_FALSE(reader.verdict().has_value());
}

TEST_CASE("A flag and a duration are read as people write them") {
  const Schema schema = schema_of_tests();
  const auto reader_of = [&](const char* name, const char* text) {
    return load_settings(schema, {.keys = {{name, text}}}).value();
  };
  for (const char* text : {"true", "yes", "on"})
    CHECK(Reader(reader_of("http.open", text)).flag("http.open"));
  for (const char* text : {"false", "no", "off"})
    CHECK_FALSE(Reader(reader_of("http.open", text)).flag("http.open"));
  const Settings late = reader_of("optim.learning-rate", "2h");
  Reader reader(late);
  CHECK(reader.seconds("optim.learning-rate", 0, 1e9) == 7'200);
  CHECK(reader.seconds("optim.learning-rate", 0, 60) == 0);
  CHECK(
      reader.mistakes() ==
      Lines{"command line: optim.learning-rate = \"2h\": expected a duration from 0 to 60 s, such "
            "as 30, 500ms, 10m or 1h"});
  CHECK(parse_seconds("30") == 30);
  CHECK(parse_seconds("0.1s") == 0.1);
  CHECK(parse_seconds("500ms") == 0.5);
  CHECK(parse_seconds(" 10 m") == 600);
  CHECK(parse_seconds("2d") == 172'800);
  for (const char* text : {"", "s", "ms", "1 week", "1h30m", "h1", "1S"})
    CHECK_FALSE(parse_seconds(text).has_value());
}

TEST_CASE("Long numbers have a comma after every three digits from the right") {
  CHECK(with_commas(1'234'567) == "1,234,567");
  CHECK(with_commas(60'000) == "60,000");
  CHECK(with_commas(999) == "999");
  CHECK(with_commas(0) == "0");
}

TEST_CASE("A number is the whole text and finite") {
  CHECK(parse_number(" -1.5e3 ") == -1500);
  CHECK(parse_number("+2") == 2);
  CHECK(parse_integer("-7") == -7);
  CHECK(parse_integer("+7") == 7);
  for (std::string_view text :
       {"", "+", "-", "+-2", "++2", "1x", "inf", "nan", "1e999", "1,5", "0x10"})
    CHECK_FALSE(parse_number(text).has_value());
  for (std::string_view text : {"", "+", "+-2", "1.0", "1e3", "9223372036854775808"})
    CHECK_FALSE(parse_integer(text).has_value());
}

TEST_CASE("A command line is options and keys and the rest") {
  const CommandOption options[] = {
      {"config,c", "FILE", "file"}, {"json", "", "as JSON"}, {"join", "PEER", "peer"}};
  const std::string_view hosts[] = {"HOST"};
  const std::vector<std::string> arguments = {
      "host:7600",   "-c",    "a.ini",      "--optim.learning-rate=0.2",
      "--node.name", "x=y",   "--join=a:1", "--join",
      "10.0.0.1:2",  "--json"};
  const CommandLine line = parse_command_line(arguments, taking(options, "*", hosts)).value();
  CHECK(line.positional == Lines{"host:7600"});
  CHECK(line.value("config") == "a.ini");
  CHECK(line.has("json"));
  CHECK(line.options.at("join") == Lines{"a:1", "10.0.0.1:2"});
  CHECK(line.keys == Keys{{"optim.learning-rate", "0.2"}, {"node.name", "x=y"}});
}

TEST_CASE("A public key is an argument and no option whatever it begins with") {
  const CommandOption options[] = {{"api,J", "URL", "where"}};
  const std::string_view names[] = {"NAME", "KEY"};
  for (const std::string start : {"-J", "--", "-_", "A-"}) {
    const std::string key = start + std::string(40, 'd') + "A";
    const std::vector<std::string> arguments = {"node-2", key, "--api", "x"};
    const auto line = parse_command_line(arguments, taking(options, "", names));
    REQUIRE(line);
    CHECK(line->positional == Lines{"node-2", key});
    CHECK(line->value("api") == "x");
  }
}

TEST_CASE("A command line with a mistake is refused") {
  const CommandOption options[] = {{"config,c", "FILE", "file"}};
  const auto refused = [&](const std::vector<std::string>& arguments) {
    return !parse_command_line(arguments, taking(options, "*")).has_value();
  };
  CHECK(refused({"--jsn"}));
  CHECK(refused({"--conf", "a.ini"}));
  CHECK(refused({"-c"}));
  CHECK(refused({"--node.name"}));
  const CommandOption more[] = {{"watch", "", "often"}, {"json", "", "text"}};
  const auto text = [&](const std::string& argument) {
    return parse_command_line(std::vector{argument}, taking(more, "")).error().text;
  };
  CHECK(text("--wacth").ends_with("; did you mean --watch?"));
  CHECK(text("--jsno").ends_with("; did you mean --json?"));
  for (const char* far : {"--no", "--moon", "--mode", "--foo"})
    CHECK(text(far).find("did you mean") == std::string::npos);
}

TEST_CASE("A command refuses what it does not take and says what it takes") {
  const std::string_view names[] = {"MODEL", "FILE.csv"};
  ProgramCommand command = taking({}, "", names);
  const auto text = [&](const std::vector<std::string>& arguments) {
    const auto line = parse_command_line(arguments, command);
    return line ? "no error" : line.error().text;
  };
  CHECK(text({"a", "b", "c"}) == "expected MODEL and FILE.csv or nothing, got 3 arguments");
  CHECK(text({"a", "b"}) == "no error");
  command.arguments_least = 2;
  CHECK(text({"a"}) == "expected MODEL and FILE.csv, got 1 arguments");
  CHECK(text({"--help"}) == "no error");
  CHECK(text({"a", "b", "--node.name=x"}) == "--node.name: keys belong to starling run and up");
  command.arguments = {};
  CHECK(text({"a"}) == "\"a\": expected options only");
}
