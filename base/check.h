// ENSURE: an assumption about our own code, verified in release builds too. Input from outside
// (peers, files, users) is never ENSUREd: a Result refuses it.
#pragma once

#include <source_location>
#include <string_view>

namespace starling {

// Prints the condition, its place and the message on standard error, then aborts.
[[noreturn]] void check_failed(std::string_view condition, std::string_view message,
                               const std::source_location& where);

}  // namespace starling

#define ENSURE(condition, message)                                                      \
  do {                                                                                  \
    if (!(condition)) [[unlikely]]                                                      \
      ::starling::check_failed(#condition, (message), std::source_location::current()); \
  } while (false)
