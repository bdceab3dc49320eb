#include "daemon/cli/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "daemon/cli/help/completion.h"
#include "daemon/cli/help/manual.h"
#include "daemon/process/version.h"
#include "daemon/process/whole_file.h"
#include "daemon/setup/config.h"

namespace starling::daemon {
namespace {

std::vector<ManualPage> manual() {
  return manual_pages(commands(), schema());
}

Outcome<int> write_manual(const std::filesystem::path& folder) {
  for (const ManualPage& page : manual()) {
    const auto path = folder / fmt::format("man{}", page.section) / page.file_name();
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error)
      return complaint(kExitFailed, "{}: {}", path.parent_path().string(), error.message());
    if (const auto written = replace_file(path.string(), page.text); !written)
      return complaint(kExitFailed, "{}", written.error().text);
  }
  return kExitDone;
}

Outcome<int> print_page(const std::string& name) {
  const std::vector<ManualPage> pages = manual();
  const auto page = std::ranges::find(pages, name, &ManualPage::name);
  if (page == pages.end()) return fail("no page \"{}\"; starling manual lists them", name);
  fmt::print("{}", page->text);
  return kExitDone;
}

Outcome<int> run_completion(const CommandLine& line) {
  const std::string& shell = line.positional[0];
  if (std::ranges::find(kShells, shell) == std::end(kShells))
    return fail("\"{}\": expected one shell: {}", shell, fmt::join(kShells, ", "));
  fmt::print("{}", completion_script(shell));
  return kExitDone;
}

Outcome<int> run_manual(const CommandLine& line) {
  if (const auto folder = line.value("output")) return write_manual(*folder);
  if (!line.positional.empty()) return print_page(line.positional[0]);
  for (const ManualPage& page : manual()) fmt::print("{}\n", page.name);
  return kExitDone;
}

Outcome<int> run_version(const CommandLine&) {
  fmt::print("starling {}\n", kVersion);
  return kExitDone;
}

constexpr CommandOption kManualOptions[] = {
    {"output", "DIR", "write all of them there, as DIR/man1 and DIR/man5"}};
constexpr std::string_view kManualArguments[] = {"PAGE"};
constexpr std::string_view kCompletionArguments[] = {"bash|zsh|fish"};

}  // namespace

constinit const ProgramCommand kCompletion = {
    .name = "completion",
    .summary = "completion of commands and keys for a shell",
    .usage = "starling completion bash|zsh|fish",
    .description = R"(Prints a script that completes commands, their options, keys and the values of
keys, for which it asks the program. The Debian package installs it for all three shells.

Examples: for this shell of bash, for zsh and for fish

  source <(starling completion bash)
  starling completion zsh > ~/.zfunc/_starling
  starling completion fish > ~/.config/fish/completions/starling.fish)",
    .exits = "0 done, 2 wrong usage.",
    .arguments = kCompletionArguments,
    .arguments_least = 1,
    .run = run_completion};

constinit const ProgramCommand kManual = {
    .name = "manual",
    .summary = "the manual pages",
    .usage = "starling manual [PAGE] [--output DIR]",
    .description = R"(Prints a manual page in the language of man: starling, starling-COMMAND, or
starling.ini on the keys of the configuration. Without a page it lists their names.)",
    .options = kManualOptions,
    .notes = R"(Example:

  starling manual starling.ini | man -l -)",
    .exits = "0 done, 1 a file cannot be written, 2 wrong usage.",
    .arguments = kManualArguments,
    .run = run_manual};

constinit const ProgramCommand kVersionCommand = {
    .name = "version",
    .summary = "the version of the program",
    .usage = "starling version",
    .description = "Prints the version and nothing else.",
    .run = run_version};

}  // namespace starling::daemon
