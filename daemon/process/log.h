// Log lines for people, on standard error. Other layers do not log: they return.
#pragma once

#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace starling::daemon::log {

enum class Level { debug, info, warning, error, off };

// Sets the least level that is printed and the name that starts each line. Any thread may log.
void set_up(Level least, std::string_view name);
// Sets the least level from now on.
void set_level(Level least);
// The text may come from other nodes: it cannot begin a line of its own.
void write(Level level, std::string_view text);

template <class... Arguments>
void info(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write(Level::info, fmt::format(format, std::forward<Arguments>(arguments)...));
}
template <class... Arguments>
void warning(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write(Level::warning, fmt::format(format, std::forward<Arguments>(arguments)...));
}

}  // namespace starling::daemon::log
