// cell: the form of a cell of a table, before the kind of its column is known.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace starling::models {

// A missing value is an empty cell or one of these, in any case.
inline constexpr std::string_view kMissingCells[] = {"na", "n/a", "nan", "null", "?", "-"};

bool is_missing(std::string_view cell);

// A finite number, with a sign or without. In a table with decimal commas 3,14 is one too, and
// 1.234, which may be 1234 there, is none.
std::optional<double> cell_number(std::string_view cell, bool decimal_comma = false);

// "inf" or "infinity" in any case, with a sign or without.
bool is_infinite(std::string_view cell);

// Numbers in formats for people. In a table with decimal commas the first takes 1.234 and
// 1.234.567,8.
bool has_thousands_separators(std::string_view cell, bool decimal_comma = false);  // 1,234.5
bool has_decimal_comma(std::string_view cell);                                     // 3,14

// A date, a time of day, or both: 2013-01-31, 31/1/2013, 2013-01-31T12:30:00Z, 12:30.
bool is_timestamp(std::string_view cell);

// A class as all nodes write it: a number in one canonical way, anything else unchanged.
std::string class_name(std::string_view cell, bool decimal_comma = false);

}  // namespace starling::models
