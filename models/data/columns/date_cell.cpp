#include "models/data/columns/date_cell.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "base/text.h"
#include "models/data/columns/number_cell.h"

namespace starling::models {
namespace {

using std::chrono::day;
using std::chrono::month;
using std::chrono::year;
using std::chrono::year_month_day;

// The first letters tell months apart, in English and German.
constexpr std::array<std::string_view, 15> kMonths{"jan", "feb", "mar", "apr", "may",
                                                   "jun", "jul", "aug", "sep", "oct",
                                                   "nov", "dec", "mai", "okt", "dez"};
constexpr std::array<unsigned, 15> kMonthNumbers{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 5, 10, 12};
// Two digits below it are of this century, others of the last.
constexpr int kCenturyTurns = 70;

struct Part {
  int value = 0;
  std::size_t digits = 0;  // 0: a month by its name
};

bool take(std::string_view& text, char character) {
  if (!text.starts_with(character)) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<Part> take_number(std::string_view& text, std::size_t most) {
  Part part;
  while (part.digits < most && part.digits < text.size() && is_digit(text[part.digits]))
    part.value = 10 * part.value + (text[part.digits++] - '0');
  text.remove_prefix(part.digits);
  return part.digits > 0 ? std::optional(part) : std::nullopt;
}

std::optional<Part> take_month_name(std::string_view& text) {
  constexpr std::size_t kLetters = 3;
  std::string small(text.substr(0, kLetters));
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
  if (small == "m\xC3\xA4") small = "mar";  // März
  const auto found = std::ranges::find(kMonths, small);
  if (found == kMonths.end()) return std::nullopt;
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) || c >= 0x80; };
  text.remove_prefix(
      static_cast<std::size_t>(std::ranges::find_if_not(text, is_letter) - text.begin()));
  take(text, '.');
  return Part{
      .value = static_cast<int>(kMonthNumbers[static_cast<std::size_t>(found - kMonths.begin())]),
      .digits = 0};
}

std::optional<std::chrono::sys_days> day_of(const Part& y, const Part& m, const Part& d) {
  int full = y.value;
  if (y.digits == 2) full += y.value < kCenturyTurns ? 2000 : 1900;
  const year_month_day date(year(full), month(static_cast<unsigned>(m.value)),
                            day(static_cast<unsigned>(d.value)));
  if (!date.ok() || y.digits == 1 || y.digits == 3) return std::nullopt;
  return std::chrono::sys_days(date);
}

// 20130131
std::optional<DateCell> take_compact(std::string_view& text) {
  constexpr std::size_t kDigits = 8;
  std::string_view rest = text;
  const auto number = take_number(rest, kDigits);
  if (!number || number->digits != kDigits || (!rest.empty() && is_digit(rest.front())))
    return std::nullopt;
  const auto date =
      day_of({number->value / 10000, 4}, {number->value / 100 % 100, 2}, {number->value % 100, 2});
  if (!date || number->value / 10000 < 1900 || number->value / 10000 > 2100) return std::nullopt;
  text = rest;
  return DateCell{.day = *date};
}

// Three numbers, of which the year is not the first: which is the day is open, unless one of them
// is above 12 or `separator` is a point.
std::optional<DateCell> in_order(const Part& first, const Part& second, const Part& last,
                                 char separator, DateOrder order) {
  DateCell cell;
  const auto day_first = day_of(last, second, first), month_first = day_of(last, first, second);
  const bool is_proven = separator == '.' || !day_first || !month_first;
  if (is_proven) cell.order = day_first ? DateOrder::day_first : DateOrder::month_first;
  cell.is_ambiguous = !is_proven && first.value != second.value;
  const bool takes_day = is_proven ? day_first.has_value() : order != DateOrder::month_first;
  const auto& date = takes_day ? day_first : month_first;
  if (!date || (separator == '.' && !day_first)) return std::nullopt;
  cell.day = *date;
  return cell;
}

// Three parts and the mark between them: 31-1-2013, 2013-01-31, 31. Jan 2013.
struct Parts {
  Part first, second, last;
  char separator = 0;
};

std::optional<Parts> take_parts(std::string_view& text) {
  constexpr std::string_view kSeparators = "-/. ";
  const auto first = take_number(text, 4);
  if (!first || text.empty() || kSeparators.find(text.front()) == std::string_view::npos)
    return std::nullopt;
  const char separator = text.front();
  text.remove_prefix(separator == '.' && text.starts_with(". ") ? 2 : 1);
  const auto name = take_month_name(text);
  const auto second = name || separator == ' ' ? name : take_number(text, 2);
  if (!second || (!take(text, separator) && !(name && take(text, ' ')))) return std::nullopt;
  const auto last = take_number(text, 4);
  return last ? std::optional(Parts{*first, *second, *last, separator}) : std::nullopt;
}

std::optional<DateCell> take_date(std::string_view& text, DateOrder order) {
  if (auto compact = take_compact(text)) return compact;
  std::string_view rest = text;
  const auto parts = take_parts(rest);
  if (!parts) return std::nullopt;
  const auto& [first, second, last, separator] = *parts;
  std::optional<DateCell> cell;
  if (first.digits == 4 || second.digits == 0) {
    const auto date = first.digits == 4 ? day_of(first, second, last) : day_of(last, second, first);
    if (date) cell = DateCell{.day = *date};
  } else {
    cell = in_order(first, second, last, separator, order);
  }
  if (cell) text = rest;
  return cell;
}

// The zone after a time; the time is that of the clock on the wall.
void skip_zone(std::string_view& text) {
  if (take(text, 'Z')) return;
  std::string_view rest = text;
  if (!take(rest, '+') && !take(rest, '-')) return;
  if (!take_number(rest, 2)) return;
  take(rest, ':');
  take_number(rest, 2);
  text = rest;
}

// The hour of 0 to 24: with "AM" or "PM" after the time it is one of twelve, else as it is.
int take_half(std::string_view& text, int hour) {
  std::string half(trim(text));
  std::ranges::transform(half, half.begin(), [](unsigned char c) { return std::tolower(c); });
  if (half != "am" && half != "pm") return hour;
  text = {};
  return hour % 12 + (half == "pm" ? 12 : 0);
}

// :05 or :05.25, in seconds; 0 where there is none, nothing where it is no time.
std::optional<double> take_seconds(std::string_view& text) {
  if (!take(text, ':')) return 0;
  const auto second = take_number(text, 2);
  if (!second || second->digits != 2 || second->value > 60) return std::nullopt;
  if (take(text, '.') && !take_number(text, 9)) return std::nullopt;
  return second->value;
}

// 12:30, 12:30:05.25, 1:30 PM, and a zone.
std::optional<double> take_time(std::string_view& text) {
  std::string_view rest = text;
  const auto hour = take_number(rest, 2);
  if (!hour || !take(rest, ':')) return std::nullopt;
  const auto minute = take_number(rest, 2);
  if (!minute || minute->digits != 2 || minute->value > 59) return std::nullopt;
  const auto seconds = take_seconds(rest);
  const int full = take_half(rest, hour->value);
  if (!seconds || full > 24) return std::nullopt;
  skip_zone(rest);
  text = rest;
  return full + minute->value / 60.0 + *seconds / 3600.0;
}

}  // namespace

std::optional<DateCell> split_date(std::string_view cell, DateOrder order) {
  if (cell.empty() || !is_digit(cell.front())) return std::nullopt;
  auto date = take_date(cell, order);
  if (!date || cell.empty()) return date;
  if (!take(cell, 'T') && !take(cell, ' ')) return std::nullopt;
  const auto time = take_time(cell);
  if (!time || !cell.empty()) return std::nullopt;
  date->hours = *time;
  date->has_time = true;
  return date;
}

std::optional<double> split_time(std::string_view cell) {
  const auto time = take_time(cell);
  return time && cell.empty() ? time : std::nullopt;
}

}  // namespace starling::models
