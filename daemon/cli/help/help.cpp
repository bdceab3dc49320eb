#include "daemon/cli/help/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "daemon/cli/terminal/text_width.h"
#include "daemon/process/version.h"

namespace starling::daemon {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kHelpColumn = 21;  // where what an option does begins

std::string option_lines(const CommandOption& option) {
  std::string head = fmt::format("  {}", fmt::join(option.flags(), ", "));
  if (!option.value.empty()) head += (option.is_key() ? "=" : " ") + std::string(option.value);
  if (head.size() + 2 > kHelpColumn) head += "\n" + std::string(kHelpColumn, ' ');
  const auto lines = wrap_words(option.help, kColumns - kHelpColumn);
  return fmt::format("{:<{}}{}\n", head, kHelpColumn,
                     fmt::join(lines, "\n" + std::string(kHelpColumn, ' ')));
}

std::string wrapped(std::string_view text) {
  return fmt::format("{}\n", fmt::join(wrap_words(text, kColumns), "\n"));
}

std::string text_lines(std::string_view text) {
  std::string result;
  for (const TextBlock& block : blocks_of(text))
    result +=
        "\n" + (block.paragraph.empty() ? fmt::format("  {}\n", fmt::join(block.lines, "\n  "))
                                        : wrapped(block.paragraph));
  return result;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

constexpr std::string_view kOverview = R"(starling {}: neighbours train together, without a server

Usage: starling COMMAND [OPTIONS]

{}
starling COMMAND --help says more about each. To begin:

  starling up -n 8          train on eight local nodes and watch
  starling status           ask one of them, in another terminal

Exit codes: 0 done, 1 failed while running, 2 wrong usage or configuration, 3 goal not reached,
4 no node answers, 5 the other nodes have ended and gone.
)";

}  // namespace

std::string help_of(const ProgramCommand& command) {
  std::string text = fmt::format("Usage: {}\n", command.usage) + text_lines(command.description);
  if (!command.options.empty()) text += "\n";
  for (const CommandOption& option : command.options) text += option_lines(option);
  text += text_lines(command.notes);
  return command.exits.empty() ? text
                               : text + text_lines(fmt::format("Exit codes: {}", command.exits));
}

std::string overview_of(Commands commands) {
  std::string lines;
  for (const ProgramCommand* command : commands)
    lines += fmt::format("  {:<13}{}\n", command->name, command->summary);
  return fmt::format(kOverview, kVersion, lines);
}

std::vector<TextBlock> blocks_of(std::string_view text) {
  std::vector<TextBlock> blocks;
  bool is_new = true;
  for (const std::string_view line : lines_of(text)) {
    const bool is_example = line.starts_with("  ");
    if (!line.empty() && (is_new || is_example != blocks.back().paragraph.empty()))
      blocks.emplace_back();
    is_new = line.empty();
    if (is_example)
      blocks.back().lines.emplace_back(line.substr(2));
    else if (!is_new)
      blocks.back().paragraph.append(blocks.back().paragraph.empty() ? "" : " ").append(line);
  }
  return blocks;
}

std::vector<std::string> usages_of(const ProgramCommand& command) {
  std::vector<std::string> usages;
  for (const std::string_view line : lines_of(command.usage)) {
    const std::string_view words = trim(line);
    if (words.starts_with("starling "))
      usages.emplace_back(words);
    else
      usages.back().append(" ").append(words);
  }
  return usages;
}

}  // namespace starling::daemon
