// Completion: the script by which a shell completes commands, options, keys and their values. It
// holds everything it needs and does not run the program.
#pragma once

#include <string>
#include <string_view>

#include "base/settings.h"
#include "daemon/cli/help/help.h"

namespace starling::daemon {

inline constexpr std::string_view kShells[] = {"bash", "zsh", "fish"};

// REQUIRES one of kShells.
std::string completion_script(std::string_view shell, Commands commands, const Schema& schema);

}  // namespace starling::daemon
