// Result<T>: a value, or the reason there is none. The reason is one line for a person: it names
// the thing, the value seen and the values allowed.
#pragma once

#include <fmt/format.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace starling {

struct Error {
  std::string text;
};

template <class T>
using Result = tl::expected<T, Error>;

// fail("{}: {} rows", path, rows) reads as the return statement of a function that gives a Result.
template <class... Arguments>
[[nodiscard]] tl::unexpected<Error> fail(fmt::format_string<Arguments...> format,
                                         Arguments&&... arguments) {
  return tl::unexpected(Error{fmt::format(format, std::forward<Arguments>(arguments)...)});
}

}  // namespace starling

// TRY(auto rows, count_rows(path)): declares `rows`, or returns the error from this function.
#define STARLING_JOIN_(a, b) a##b
#define STARLING_JOIN(a, b) STARLING_JOIN_(a, b)
#define TRY(declaration, expression)                                           \
  auto STARLING_JOIN(try_, __LINE__) = (expression);                           \
  if (!STARLING_JOIN(try_, __LINE__))                                          \
    return ::tl::unexpected(std::move(STARLING_JOIN(try_, __LINE__)).error()); \
  declaration = *std::move(STARLING_JOIN(try_, __LINE__))

// TRY_DO(write(path)): the same for a Result<void>.
#define TRY_DO(expression)                         \
  if (auto try_result = (expression); !try_result) \
  return ::tl::unexpected(std::move(try_result).error())
