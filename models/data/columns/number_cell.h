// number_cell: a number as people and programs write it: "1,234.50", "1.234,50", "1 234,5",
// "$1,234.50", "(12.00)", "12,50-", "12.3%", "<0.05", "1.19 mg/dl".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace starling::models {

// Of ASCII, whatever the locale.
inline bool is_digit(char character) {
  return character >= '0' && character <= '9';
}

// What a number's own marks prove of the decimal mark.
enum class Marks {
  none,             // 12
  point,            // 3.14, 1,234.5, 1,234,567
  comma,            // 3,14, 1.234,5, 1.234.567
  point_or_groups,  // 1.234
  comma_or_groups,  // 1,234
};

struct NumberCell {
  char limit = 0;        // '<' or '>', of a limit of detection; 0: none
  bool is_plain = true;  // "1.234" or "-5e3": digits alone, as programs write them
  Marks marks = Marks::none;
  std::string unit;    // in front of the number or after it, as written: "$", "%", "mg/dl"
  std::string digits;  // with sign and marks, without blanks and apostrophes between groups
};

// Of a cell without blanks around it; none: it is no number in any of these forms. Digits alone are
// split quickly.
std::optional<NumberCell> split_number(std::string_view cell);

// The number, whose ambiguous marks are read by `decimal_comma`.
double value_of(const NumberCell& number, bool decimal_comma);

}  // namespace starling::models
