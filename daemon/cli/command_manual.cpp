#include "daemon/cli/command_manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/command_line.h"
#include "daemon/cli/help/completion.h"
#include "daemon/cli/help/manual.h"
#include "daemon/cli/terminal/exit_code.h"
#include "daemon/process/whole_file.h"
#include "daemon/setup/config.h"

namespace starling::daemon {
namespace {

const CommandOption kCompletionOptions[] = {{"help,h", "", false}};

const CommandOption kManualOptions[] = {
    {"output", "folder that gets all pages", true},
    {"help,h", "", false},
};

std::vector<ManualPage> manual() {
  return manual_pages(help_pages(), schema());
}

int write_manual(const std::filesystem::path& folder) {
  for (const ManualPage& page : manual()) {
    const auto path = folder / fmt::format("man{}", page.section) / page.file_name();
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error)
      return end_with(kExitFailed,
                      fmt::format("{}: {}", path.parent_path().string(), error.message()));
    if (const auto written = replace_file(path.string(), page.text); !written)
      return end_with(kExitFailed, written.error().text);
  }
  return kExitDone;
}

int print_page(const std::string& name) {
  const std::vector<ManualPage> pages = manual();
  const auto page = std::ranges::find(pages, name, &ManualPage::name);
  if (page == pages.end())
    return wrong_usage(fmt::format("no page \"{}\"; starling manual lists them", name));
  fmt::print("{}", page->text);
  return kExitDone;
}

}  // namespace

int command_completion(std::span<const std::string> arguments) {
  const auto line = parse_command_line(arguments, kCompletionOptions);
  if (!line) return wrong_usage(line.error().text);
  if (line->has("help")) return print_help("completion");
  const std::string shell = line->positional.size() == 1 ? line->positional[0] : "";
  if (std::ranges::find(kShells, shell) == std::end(kShells))
    return wrong_usage(fmt::format("completion \"{}\": expected one shell: {}",
                                   fmt::join(line->positional, " "), fmt::join(kShells, ", ")));
  fmt::print("{}", completion_script(shell, help_pages(), schema()));
  return kExitDone;
}

int command_manual(std::span<const std::string> arguments) {
  const auto line = parse_command_line(arguments, kManualOptions);
  if (!line) return wrong_usage(line.error().text);
  if (line->has("help")) return print_help("manual");
  if (line->positional.size() > 1) return wrong_usage("manual takes one page");
  if (const auto folder = line->value("output")) return write_manual(*folder);
  if (!line->positional.empty()) return print_page(line->positional[0]);
  for (const ManualPage& page : manual()) fmt::print("{}\n", page.name);
  return kExitDone;
}

}  // namespace starling::daemon
