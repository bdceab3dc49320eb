#include "models/data/cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "models/data/columns/number_cell.h"

namespace starling::models {
namespace {

std::string_view without_sign(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return text;
}

char small(char character) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(character)));
}

}  // namespace

bool is_missing(std::string_view cell, std::span<const std::string> words) {
  const auto same = [](char a, char b) { return small(a) == small(b); };
  return std::ranges::any_of(
      words, [&](const std::string& word) { return std::ranges::equal(cell, word, same); });
}

std::vector<std::string> default_missing_words() {
  return {std::begin(kMissingCells), std::end(kMissingCells)};
}

std::optional<double> cell_number(std::string_view cell, bool decimal_comma) {
  if (decimal_comma) {
    const auto number = split_number(cell);
    if (!number || !number->is_plain || number->marks == Marks::point_or_groups)
      return std::nullopt;
    return value_of(*number, true);
  }
  if (cell.starts_with('+') && cell.size() > 1 && cell[1] != '-') cell.remove_prefix(1);
  return parse_number(cell);
}

bool is_infinite(std::string_view cell) {
  std::string text(without_sign(cell));
  std::ranges::transform(text, text.begin(), small);
  return text == "inf" || text == "infinity";
}

std::string folded(std::string_view word) {
  constexpr char kLatin = '\xC3';  // the first byte of À to ÿ
  std::string text;
  for (const char character : word) {
    const bool is_second = !text.empty() && text.back() == kLatin;
    const auto byte = static_cast<unsigned char>(character);
    if (is_second && byte >= 0x80 && byte <= 0x9E && byte != 0x97)
      text += static_cast<char>(byte + 0x20);
    else if (character != ' ' || text.empty() || text.back() != ' ')
      text += small(character);
  }
  return std::string(trim(text));
}

std::string class_name(std::string_view cell, bool decimal_comma) {
  const std::optional<double> number = cell_number(cell, decimal_comma);
  return number ? fmt::to_string(*number) : std::string(cell);
}

}  // namespace starling::models
