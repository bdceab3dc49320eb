// How commands end: exit codes, errors of one line on standard error.
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <string_view>

namespace starling::daemon {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;      // while running
inline constexpr int kExitWrongUsage = 2;  // nothing was started
inline constexpr int kExitGoalNotReached = 3;
inline constexpr int kExitUnreachable = 4;  // the node that was asked

inline int end_with(int code, std::string_view text) {
  fmt::print(stderr, "starling: {}\n", text);
  return code;
}
inline int wrong_usage(std::string_view text) {
  return end_with(kExitWrongUsage, text);
}

}  // namespace starling::daemon
