// Version of the program, as `starling version`, the status and the help show it.
#pragma once

#include <string_view>

namespace starling::daemon {

// That of the project in CMakeLists.txt; a test compares them.
inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace starling::daemon
