// starling completion and starling manual: what is installed beside the program.
#pragma once

#include <span>
#include <string>

namespace starling::daemon {

int command_completion(std::span<const std::string> arguments);
int command_manual(std::span<const std::string> arguments);

}  // namespace starling::daemon
