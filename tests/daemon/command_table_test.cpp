// The table of commands, and what follows from it: parsing, help, manual pages and completions.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "base/text.h"
#include "daemon/cli/commands.h"
#include "daemon/cli/help/completion.h"
#include "daemon/cli/help/manual.h"
#include "daemon/setup/config.h"

using namespace starling;
using namespace starling::daemon;

namespace {

bool holds_part(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string manual_of(std::string_view name) {
  const std::vector<ManualPage> pages = manual_pages(commands(), schema());
  const auto page = std::ranges::find(pages, name, &ManualPage::name);
  REQUIRE(page != pages.end());
  return page->text;
}

// As a manual page writes it.
std::string in_manual(std::string_view text) {
  std::string result;
  for (const char sign : text) result += sign == '-' ? "\\-" : std::string(1, sign);
  return result;
}

std::string completed(const std::vector<std::string>& words) {
  return completions(words, commands(), schema());
}

std::string words_of(const std::vector<std::string>& words) {
  return fmt::format("words\n{}\n", fmt::join(words, "\n"));
}

std::string one_line(const std::string& text) {
  return fmt::format("{}",
                     fmt::join(split(std::regex_replace(text, std::regex("\n"), " "), ' '), " "));
}

// The options that the code asks a command line for.
std::set<std::string> options_read() {
  std::set<std::string> names;
  const std::regex pattern(R"re(\bline(?:\.|->)(?:has|value)\("([a-z-]+)"\))re");
  const auto folder = std::filesystem::path(STARLING_ROOT) / "daemon";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".cpp") continue;
    std::ifstream stream(entry.path());
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    for (std::sregex_iterator item(text.begin(), text.end(), pattern), end; item != end; ++item)
      names.insert((*item)[1]);
  }
  return names;
}

}  // namespace

TEST_CASE("Every command has a usage and a description and a place in the overview") {
  CHECK(commands().size() > 20);
  const std::string overview = overview_of(commands());
  for (const ProgramCommand* command : commands()) {
    CAPTURE(command->name);
    CHECK(find_command(command->name) == command);
    CHECK(holds_part(overview, fmt::format("\n  {} ", command->name)));
    for (const std::string& usage : usages_of(*command))
      CHECK(usage.starts_with(fmt::format("starling {}", command->name)));
    const std::string help = help_of(*command);
    CHECK(help.starts_with(fmt::format("Usage: starling {}", command->name)));
    for (const std::string& line : split(help, '\n')) CHECK_MESSAGE(line.size() <= 100, line);
    CHECK_FALSE(blocks_of(command->description).empty());
    const std::set<std::string_view> of_main = {"rehearse", "simulate", "sweep"};
    CHECK((command->run == nullptr) == of_main.contains(command->name));
  }
  CHECK(find_command("moon") == nullptr);
}

TEST_CASE("Every option of every command is parsed and explained and completed") {
  for (const ProgramCommand* command : commands())
    for (const CommandOption& option : command->options) {
      CAPTURE(command->name);
      CAPTURE(option.name);
      CHECK_FALSE(option.help.empty());
      CHECK(holds_part(one_line(help_of(*command)), option.help));
      const std::string manual = manual_of(fmt::format("starling-{}", command->name));
      CHECK(holds_part(manual, in_manual(option.help)));
      for (const std::string& flag : option.flags()) {
        CHECK(holds_part(help_of(*command), "  " + flag) == (flag == option.flags().front()));
        CHECK(holds_part(manual, fmt::format("\\fB{}\\fR", in_manual(flag))));
        if (option.is_key()) continue;
        CHECK(
            holds_part(completed({std::string(command->name), "-"}), fmt::format("\n{}\t", flag)));
        std::vector<std::string> words(command->arguments_least, "argument");
        words.push_back(flag);
        if (!option.value.empty()) words.emplace_back("value");
        const auto line = parse_command_line(words, *command);
        REQUIRE(line.has_value());
        CHECK(line->has(option.long_name()));
        CHECK(line->value(option.long_name()).has_value() == !option.value.empty());
      }
    }
}

TEST_CASE("Options that stand for keys are keys that the command takes") {
  for (const ProgramCommand* command : commands())
    for (const CommandOption& option : command->options) {
      const std::string_view section = option.name.substr(0, option.name.find('.'));
      if (!option.is_key() || section == "SECTION" || section == "sim") continue;
      CAPTURE(option.name);
      CHECK((command->settings == "*" || command->settings == section));
      CHECK((option.name.ends_with(".KEY") || schema().find(std::string(option.name)) != nullptr));
    }
}

TEST_CASE("The options that the code reads are those of the table") {
  std::set<std::string> listed = {"help"};
  for (const ProgramCommand* command : commands())
    for (const CommandOption& option : command->options)
      if (!option.is_key()) listed.emplace(option.long_name());
  CHECK(options_read() == listed);
}

TEST_CASE("A text of a command is paragraphs and examples") {
  const auto blocks = blocks_of("Flies to\nthe neighbours.\n\nAt once.\n  fly \\\n      --high\n");
  REQUIRE(blocks.size() == 3);
  CHECK(blocks[0].paragraph == "Flies to the neighbours.");
  CHECK(blocks[1].paragraph == "At once.");
  CHECK(blocks[2].lines == std::vector<std::string>{"fly \\", "    --high"});
  CHECK(blocks_of("").empty());
}

TEST_CASE("Completion offers every command and the help on each") {
  for (const auto& words : {std::vector<std::string>{"conv"}, {"help", ""}}) {
    for (const ProgramCommand* command : commands())
      CHECK(
          holds_part(completed(words), fmt::format("\n{}\t{}\n", command->name, command->summary)));
    CHECK(holds_part(completed(words), "\nhelp\t"));
  }
  CHECK(completed({"moon", "-"}) == "words\n");
}

TEST_CASE("Completion offers the keys that a command takes and no others") {
  for (const ProgramCommand* command : commands())
    for (const Key& key : schema().keys()) {
      const std::string name(command->name), flag = "--" + key.name;
      CAPTURE(name);
      CAPTURE(flag);
      const bool is_own =
          command->settings == "*" || key.name.starts_with(fmt::format("{}.", command->settings));
      CHECK(holds_part(completed({name, "--"}), fmt::format("\n{}=\t", flag)) == is_own);
      if (!is_own || key.choices.empty()) continue;
      for (const auto& words : {std::vector<std::string>{flag + "="},
                                {flag, ""},
                                {flag, "="},
                                {flag, "=", key.choices[0]}}) {
        std::vector<std::string> line = {name};
        line.insert(line.end(), words.begin(), words.end());
        CHECK(completed(line) == words_of(key.choices));
      }
    }
}

TEST_CASE("Completion offers what an option may be set to") {
  for (const ProgramCommand* command : commands())
    for (const CommandOption& option : command->options) {
      if (option.is_key()) continue;
      const std::string flag = option.flags().front(), name(command->name);
      CAPTURE(name);
      CAPTURE(flag);
      const std::string values = completed({name, flag, ""});
      if (option.value.empty())
        CHECK(values == completed({name, ""}));
      else if (holds_part(option.value, "|"))
        CHECK(values == words_of(split(option.value, '|')));
      else
        CHECK((values == "words\n" || values == "file\n" || values == "directory\n"));
      CHECK(completed({name, fmt::format("--{}=x", option.long_name())}) ==
            (option.value.empty() ? completed({name, "-"}) : values));
    }
  CHECK(completed({"completion", ""}) == words_of({"bash", "zsh", "fish"}));
  CHECK(completed({"predict", ""}) == "file\n");
  CHECK(completed({"run", "--data.path="}) == "file\n");
  CHECK(completed({"run", "--model.from", "x"}) == "file\n");
  CHECK(completed({"run", "-c", ""}) == "file\n");
  CHECK(completed({"run", "--node.data-dir", ""}) == "directory\n");
  CHECK(completed({"up", "--resume", ""}) == "directory\n");
  CHECK(completed({"up", "-n", ""}) == "words\n");
  CHECK(completed({"status", "--node.data-dir", ""}) == completed({"status", ""}));
}

TEST_CASE("Keys whose values have names list all of them") {
  std::set<std::string> listed;
  for (const Key& key : schema().keys()) {
    if (key.choices.empty()) continue;
    CAPTURE(key.name);
    listed.insert(key.name);
    CHECK(std::ranges::find(key.choices, key.initial) != key.choices.end());
  }
  for (const char* name : {"topology.kind", "optim.algorithm", "exchange.codec", "cluster.preset",
                           "exchange.schedule", "data.separator", "node.log", "stop.stay"})
    CHECK(listed.contains(name));
}

TEST_CASE("The manual has a page for every command and one with every key") {
  CHECK(manual_pages(commands(), schema()).size() == commands().size() + 2);
  const std::string keys = manual_of("starling.ini");
  for (const Key& key : schema().keys())
    CHECK(holds_part(keys, ".SH [" + key.name.substr(0, key.name.find('.')) + "]"));
  CHECK(holds_part(keys, "\\fBlearning\\-rate\\fR = "));
  CHECK(holds_part(keys, "Agreed: the same on every node."));
  const std::string run = manual_of("starling-run");
  CHECK(holds_part(run, "\\fB\\-\\-join\\fR \\fIHOST:PORT\\fR"));
  CHECK(holds_part(run, "7690 \\e\n"));  // a backslash, which man would take for its own
}
