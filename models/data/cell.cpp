#include "models/data/cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace starling::models {
namespace {

bool is_digit(char character) {
  return character >= '0' && character <= '9';
}

std::string_view without_sign(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return text;
}

// Points as commas and commas as points, without a plus in front.
std::string swapped(std::string_view cell) {
  std::string text(cell.starts_with('+') ? cell.substr(1) : cell);
  for (char& character : text)
    character = character == ',' ? '.' : character == '.' ? ',' : character;
  return text;
}

// Takes `least` to `most` digits off `text`.
bool take_digits(std::string_view& text, std::size_t least, std::size_t most) {
  std::size_t count = 0;
  while (count < std::min(most, text.size()) && is_digit(text[count])) ++count;
  text.remove_prefix(count);
  return count >= least;
}

bool take(std::string_view& text, char character) {
  if (!text.starts_with(character)) return false;
  text.remove_prefix(1);
  return true;
}

bool take_date(std::string_view& text) {
  const std::string_view before = text;
  for (const char separator : {'-', '/', '.'}) {
    text = before;
    if (!take_digits(text, 1, 4) || !take(text, separator)) continue;
    const bool year_first = before.size() - text.size() == 5;
    if (!take_digits(text, 1, 2) || !take(text, separator)) continue;
    if (take_digits(text, year_first ? 1 : 2, year_first ? 2 : 4)) return true;
  }
  text = before;
  return false;
}

// 12:30, 12:30:05, 12:30:05.25, and a zone after it.
bool take_time(std::string_view& text) {
  if (!take_digits(text, 1, 2) || !take(text, ':') || !take_digits(text, 2, 2)) return false;
  if (take(text, ':') && !take_digits(text, 2, 2)) return false;
  if (take(text, '.') && !take_digits(text, 1, 9)) return false;
  if (take(text, 'Z')) return true;
  if (text.starts_with('+') || text.starts_with('-')) {
    text.remove_prefix(1);
    if (!take_digits(text, 2, 2)) return false;
    take(text, ':');
    return take_digits(text, 2, 2);
  }
  return true;
}

}  // namespace

bool is_missing(std::string_view cell) {
  constexpr std::size_t kLongest = 4;
  if (cell.empty()) return true;
  if (cell.size() > kLongest) return false;
  char small[kLongest];
  std::ranges::transform(cell, small, [](unsigned char c) { return std::tolower(c); });
  const std::string_view text(small, cell.size());
  return std::ranges::find(kMissingCells, text) != std::end(kMissingCells);
}

std::optional<double> cell_number(std::string_view cell, bool decimal_comma) {
  if (decimal_comma && has_thousands_separators(cell, true)) return std::nullopt;
  if (decimal_comma && has_decimal_comma(cell)) return parse_number(swapped(cell));
  if (cell.starts_with('+') && cell.size() > 1 && cell[1] != '-') cell.remove_prefix(1);
  return parse_number(cell);
}

bool is_infinite(std::string_view cell) {
  std::string small(without_sign(cell));
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
  return small == "inf" || small == "infinity";
}

bool has_thousands_separators(std::string_view cell, bool decimal_comma) {
  if (decimal_comma) return has_thousands_separators(swapped(cell));
  cell = without_sign(cell);
  if (cell.starts_with('0') || !take_digits(cell, 1, 3) || !cell.starts_with(',')) return false;
  while (take(cell, ','))
    if (!take_digits(cell, 3, 3)) return false;
  if (take(cell, '.')) take_digits(cell, 0, cell.size());
  return cell.empty();
}

bool has_decimal_comma(std::string_view cell) {
  cell = without_sign(cell);
  take_digits(cell, 0, cell.size());
  return take(cell, ',') && take_digits(cell, 1, cell.size()) && cell.empty();
}

bool is_timestamp(std::string_view cell) {
  if (cell.empty() || !is_digit(cell.front())) return false;
  if (take_date(cell)) {
    if (cell.empty()) return true;
    if (!take(cell, 'T') && !take(cell, ' ')) return false;
  }
  return take_time(cell) && cell.empty();
}

std::string class_name(std::string_view cell, bool decimal_comma) {
  const std::optional<double> number = cell_number(cell, decimal_comma);
  return number ? fmt::to_string(*number) : std::string(cell);
}

}  // namespace starling::models
