#include "daemon/process/json_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace starling::daemon {
namespace {

// The most brackets open at one place; for a text that is not JSON, any number.
std::size_t nesting_of(std::string_view text) {
  std::size_t depth = 0, deepest = 0;
  bool is_quoted = false;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    if (is_quoted && c == '\\') {
      ++k;
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && (c == '[' || c == '{')) {
      deepest = std::max(deepest, ++depth);
    } else if (!is_quoted && depth > 0 && (c == ']' || c == '}')) {
      --depth;
    }
  }
  return deepest;
}

}  // namespace

nlohmann::json parse_json(std::string_view text) {
  if (nesting_of(text) > kJsonNestingLimit) return nlohmann::json::value_t::discarded;
  return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace starling::daemon
