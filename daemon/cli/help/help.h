// The text of --help.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/command_line.h"

namespace starling::daemon {

// In the order of the overview.
using Commands = std::span<const ProgramCommand* const>;

std::string help_of(const ProgramCommand& command);
std::string overview_of(Commands commands);

// A paragraph in one line, or verbatim lines.
struct TextBlock {
  std::string paragraph = {};  // empty: lines
  std::vector<std::string> lines = {};
};
// Of a text of a command.
std::vector<TextBlock> blocks_of(std::string_view text);

// Lines without their ends and surrounding blanks.
std::vector<std::string> usages_of(const ProgramCommand& command);

}  // namespace starling::daemon
