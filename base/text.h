// Texts: their parts, and the numbers that they hold.
#pragma once

#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace starling {

// Without blanks and line ends around it.
std::string_view trim(std::string_view text);
// The trimmed parts between separators; empty parts are left out.
std::vector<std::string> split(std::string_view text, char separator);

// As a field of comma-separated values (RFC 4180): in quotes if it has a comma, a quote or the end
// of a line.
std::string csv_field(const std::string& text);
// The same of a text from outside, with an apostrophe before what a spreadsheet would take for a
// formula: a text that is no number and begins with = + - @, a tab or an end of line.
std::string csv_text(const std::string& text);

// 60000 as "60,000".
std::string with_commas(std::size_t number);

// Convert the whole text, blanks around it aside: nothing if a character is left over or the number
// is not finite.
std::optional<double> parse_number(std::string_view text);
std::optional<std::int64_t> parse_integer(std::string_view text);
// "30", "500ms", "30s", "10m", "1h" and "2d" in seconds.
std::optional<double> parse_seconds(std::string_view text);

// A number from all characters of the text, without a plus or blanks.
template <class T, class... Base>
std::optional<T> parse_exactly(std::string_view text, Base... base) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base...);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

// The name of an enumerator, from the names of all in their order.
template <class E>
std::string_view name_of(std::initializer_list<std::string_view> names, E which) {
  return std::data(names)[static_cast<std::size_t>(which)];
}

// The name nearest to `written`, by letters inserted, removed, replaced or swapped with the next;
// empty if none is near: at most a third of the letters, and three, may be wrong.
std::string nearest(std::string_view written, const std::vector<std::string>& names);

}  // namespace starling
