// What --help says.
#pragma once

#include <string>
#include <string_view>

namespace starling::daemon {

// The help of a command, or the overview for "" and "help". Empty for a command that does not
// exist.
std::string help_for(std::string_view command);

}  // namespace starling::daemon
