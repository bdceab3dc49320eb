#include "models/data/columns/number_cell.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace starling::models {
namespace {

// Signs and names of currencies that stand in front of an amount.
constexpr std::array<std::string_view, 16> kCurrencies{"US$", "R$",  "$",   "€",   "£",   "¥",
                                                       "EUR", "USD", "CHF", "GBP", "JPY", "INR",
                                                       "BRL", "PLN", "SEK", "Fr."};
// Between groups of three digits: blank, no-break blank, narrow no-break blank, apostrophes.
constexpr std::array<std::string_view, 5> kGroupMarks{" ", "\u00A0", "\u202F", "'", "\u2019"};
constexpr std::array<std::pair<std::string_view, char>, 6> kLimits{
    {{"<=", '<'}, {">=", '>'}, {"≤", '<'}, {"≥", '>'}, {"<", '<'}, {">", '>'}}};
constexpr std::size_t kUnitBytesLimit = 24;
constexpr std::size_t kGroupDigits = 3;

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::size_t count_digits(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
}

void skip_blanks(std::string_view& text) {
  while (take(text, " ") || take(text, "\u00A0") || take(text, "\u202F")) {
  }
}

char take_limit(std::string_view& text) {
  for (const auto& [sign, limit] : kLimits)
    if (take(text, sign)) {
      skip_blanks(text);
      return limit;
    }
  return 0;
}

std::string take_currency(std::string_view& text) {
  for (const std::string_view currency : kCurrencies)
    if (take(text, currency)) {
      skip_blanks(text);
      return std::string(currency);
    }
  return {};
}

// Whether digits as in 1,234,567 stand between these marks.
bool are_groups(std::string_view digits, char mark) {
  const std::size_t first = count_digits(digits);
  if (first == 0 || first > kGroupDigits || digits.front() == '0') return false;
  for (digits.remove_prefix(first); !digits.empty(); digits.remove_prefix(kGroupDigits)) {
    if (digits.front() != mark) return false;
    digits.remove_prefix(1);
    if (count_digits(digits) < kGroupDigits) return false;
  }
  return true;
}

// Moves digits, points and commas, and marks of groups that are left out, to `digits`. Returns
// whether groups were marked so.
bool take_digits(std::string_view& text, std::string& digits) {
  bool is_grouped = false;
  while (!text.empty()) {
    if (is_digit(text.front()) || text.front() == '.' || text.front() == ',') {
      digits += text.front();
      text.remove_prefix(1);
      continue;
    }
    std::string_view rest = text;
    const bool is_mark =
        !digits.empty() && is_digit(digits.back()) &&
        std::ranges::any_of(kGroupMarks, [&](auto mark) { return take(rest, mark); });
    if (!is_mark || count_digits(rest) != kGroupDigits || digits.find(',') != std::string::npos ||
        digits.find('.') != std::string::npos || (!is_grouped && digits.size() > kGroupDigits))
      break;
    is_grouped = true;
    digits += rest.substr(0, kGroupDigits);
    text = rest.substr(kGroupDigits);
  }
  return is_grouped;
}

// Of digits with one mark or several.
std::optional<Marks> marks_at(std::string_view digits, std::size_t last_at, bool is_grouped) {
  const char last = digits[last_at], other = last == ',' ? '.' : ',';
  const Marks proven = last == ',' ? Marks::comma : Marks::point;
  const Marks opposite = last == ',' ? Marks::point : Marks::comma;
  const bool has_other = digits.find(other) != std::string_view::npos;
  const bool is_single = std::ranges::count(digits, last) == 1;
  if (is_grouped || has_other) {
    const bool is_sound = is_grouped ? !has_other : are_groups(digits.substr(0, last_at), other);
    return is_single && is_sound ? std::optional(proven) : std::nullopt;
  }
  const bool are_thousands = are_groups(digits, last);
  if (!are_thousands) return is_single ? std::optional(proven) : std::nullopt;
  if (!is_single) return opposite;
  return last == ',' ? Marks::comma_or_groups : Marks::point_or_groups;
}

// None: the marks stand where no number has them.
std::optional<Marks> marks_of(std::string_view digits, bool is_grouped, bool has_exponent) {
  if (std::ranges::none_of(digits, is_digit)) return std::nullopt;
  const std::size_t last_at = digits.find_last_of(".,");
  if (last_at == std::string_view::npos) return Marks::none;
  if (!has_exponent) return marks_at(digits, last_at, is_grouped);
  // Programs write exponents, and no groups beside them.
  const bool is_sound = digits.find(',') == std::string_view::npos && digits.find('.') == last_at;
  return is_sound ? std::optional(Marks::point) : std::nullopt;
}

// "e-3" after the digits.
std::string_view take_exponent(std::string_view& text) {
  if (text.empty() || (text.front() != 'e' && text.front() != 'E')) return {};
  std::string_view rest = text.substr(1);
  if (rest.starts_with('-') || rest.starts_with('+')) rest.remove_prefix(1);
  const std::size_t count = count_digits(rest);
  if (count == 0) return {};
  const std::string_view exponent = text.substr(0, text.size() - rest.size() + count);
  text.remove_prefix(exponent.size());
  return exponent;
}

bool is_unit(std::string_view text) {
  if (text.size() > kUnitBytesLimit) return false;
  if (text.starts_with("10^") || text.starts_with("10*")) return true;
  constexpr std::string_view kNever = "<>+-=:;,.()'\"#&_|\\!?";
  return !is_digit(text.front()) && kNever.find(text.front()) == std::string_view::npos &&
         (text.front() != '/' || text.size() > 1) && !is_digit(text.back());
}

// Takes the text after the number as its unit; false where it is none, or a second one.
bool take_unit(std::string_view text, std::string& unit) {
  skip_blanks(text);
  if (text.empty()) return true;
  if (!unit.empty() || !is_unit(text)) return false;
  unit = text;
  return true;
}

// The sign in front of a number, between whose parts blanks may stand.
bool take_minus(std::string_view& text) {
  const bool is_negative = take(text, "-") || take(text, "\u2212");
  if (!is_negative) take(text, "+");
  return is_negative;
}

}  // namespace

std::optional<NumberCell> split_number(std::string_view cell) {
  NumberCell number;
  std::string_view text = cell;
  number.limit = take_limit(text);
  const bool is_enclosed = text.starts_with('(') && text.ends_with(')');
  if (is_enclosed) text = text.substr(1, text.size() - 2);
  bool is_negative = take_minus(text) != is_enclosed;
  number.unit = take_currency(text);
  if (!number.unit.empty()) is_negative = is_negative != take_minus(text);
  std::string digits;
  const bool is_grouped = take_digits(text, digits);
  const std::string_view exponent = take_exponent(text);
  const auto marks = marks_of(digits, is_grouped, !exponent.empty());
  if (!marks) return std::nullopt;
  number.marks = *marks;
  const bool ends_negative = text == "-";
  if (ends_negative) text = {};
  number.is_plain = text.empty() && text.data() == cell.data() + cell.size() &&
                    number.unit.empty() && number.limit == 0 && !is_grouped;
  if (!take_unit(text, number.unit)) return std::nullopt;
  number.digits =
      (is_negative != ends_negative ? "-" : "") + std::move(digits) + std::string(exponent);
  return number;
}

double value_of(const NumberCell& number, bool decimal_comma) {
  const bool is_comma =
      number.marks == Marks::comma || (decimal_comma && (number.marks == Marks::point_or_groups ||
                                                         number.marks == Marks::comma_or_groups));
  std::string digits = number.digits;
  std::erase(digits, is_comma ? '.' : ',');
  std::ranges::replace(digits, ',', '.');
  return parse_number(digits).value_or(0);
}

}  // namespace starling::models
