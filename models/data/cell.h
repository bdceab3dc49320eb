// cell: a cell of a table as it is read, before the kind of its column is known.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace starling::models {

struct Cell {
  std::string text;        // without quotes, and without blanks around it if it has no quotes
  bool is_quoted = false;  // in the file
};

// What says that a value is missing, in any case: an empty cell or one of these, unless
// data.missing-words names others.
inline constexpr std::string_view kMissingCells[] = {"", "na", "n/a", "nan", "null", "?", "-"};

bool is_missing(std::string_view cell, std::span<const std::string> words);
// kMissingCells.
std::vector<std::string> default_missing_words();

// A finite number, with a sign or without, as programs write it. In a table with decimal commas
// 3,14 is one too, and 1.234, which may be 1234 there, is none.
std::optional<double> cell_number(std::string_view cell, bool decimal_comma = false);

// "inf" or "infinity" in any case, with a sign or without.
bool is_infinite(std::string_view cell);

// In small letters, with one blank where there are several: words that people write in several
// ways.
std::string folded(std::string_view word);

// A class as all nodes write it: a number in one canonical way, anything else unchanged.
std::string class_name(std::string_view cell, bool decimal_comma = false);

}  // namespace starling::models
