#include "base/check.h"

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>

namespace starling {

void check_failed(std::string_view condition, std::string_view message,
                  const std::source_location& where) {
  fmt::print(stderr, "{}:{}: ENSURE({}) failed: {}\n", where.file_name(), where.line(), condition,
             message);
  std::fflush(stderr);
  std::abort();
}

}  // namespace starling
