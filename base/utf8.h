// UTF-8: the characters of a text from outside, and those that would control its display.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace starling {

struct Utf8Character {
  std::size_t bytes = 1;
  std::optional<char32_t> point = {};  // nothing: a byte that belongs to no character
};
// The first one. REQUIRES a text that is not empty.
Utf8Character first_utf8_character(std::string_view text);

bool is_utf8(std::string_view text);

// Control and format characters (Unicode's Cc, Cf, Zl and Zp): they move a cursor, break a line,
// turn the direction of writing, or cannot be seen.
bool is_steering(char32_t point);
// Whether the text holds none of them. Bytes that are not UTF-8 are ignored.
bool is_plain(std::string_view text);

// The text with ? in place of each byte of what would steer the display, and of what is no UTF-8.
// Every text from outside passes it on its way to a terminal, a log or a supervisor.
std::string printable(std::string_view text);

}  // namespace starling
