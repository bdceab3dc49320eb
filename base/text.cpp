#include <charconv>
#include <cmath>

#include "base/settings.h"

namespace starling {
namespace {

// A sign that from_chars does not know. Of two signs none is taken, so that +-1 is no number.
bool has_plus(std::string_view text) {
  return text.starts_with('+') && !text.starts_with("+-");
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
  text = trim(text);
  if (has_plus(text)) text.remove_prefix(1);
  double value = 0;
  auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  text = trim(text);
  if (has_plus(text)) text.remove_prefix(1);
  std::int64_t value = 0;
  auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t stop = text.find(separator);
    const std::string_view part = trim(text.substr(0, stop));
    if (!part.empty()) parts.emplace_back(part);
    if (stop == std::string_view::npos) return parts;
    text.remove_prefix(stop + 1);
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

}  // namespace starling
