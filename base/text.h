// Texts: their parts, and the numbers that they hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace starling {

// Without blanks and line ends around it.
std::string_view trim(std::string_view text);
// The trimmed parts between separators; empty parts are left out.
std::vector<std::string> split(std::string_view text, char separator);

// Conversions of the whole text, blanks around it aside: nothing when a character is left over or
// the number is not finite.
std::optional<double> parse_number(std::string_view text);
std::optional<std::int64_t> parse_integer(std::string_view text);

// The name that is nearest to what was written, by letters inserted, removed, replaced or swapped
// with the next; empty where none is near: a third of the letters may be wrong, three at most.
std::string nearest(std::string_view written, const std::vector<std::string>& names);

}  // namespace starling
