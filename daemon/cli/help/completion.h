// Completion of a command line in a shell: the scripts ask `starling complete WORDS`.
#pragma once

#include <string>
#include <string_view>

#include "base/settings.h"
#include "daemon/cli/help/help.h"

namespace starling::daemon {

inline constexpr std::string_view kShells[] = {"bash", "zsh", "fish"};

// REQUIRES one of kShells.
std::string_view completion_script(std::string_view shell);

// What may stand in the place of the last of the words after "starling", as lines: first "file",
// "directory" or "words"; after "words" a candidate a line, with a tab and what it does. The value
// alone where the word is --name=value. The shell drops what does not begin as the last word does.
std::string completions(std::span<const std::string> words, Commands commands,
                        const Schema& schema);

}  // namespace starling::daemon
