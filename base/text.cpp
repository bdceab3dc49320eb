#include "base/text.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace starling {
namespace {

constexpr std::string_view kFormulaSigns = "=+-@\t\r\n";

// Drops a plus, which from_chars does not know; not before another sign, so that +-1 is no number.
std::string_view without_plus(std::string_view text) {
  return text.substr(text.starts_with('+') && !text.starts_with("+-") ? 1 : 0);
}

// Optimal string alignment: letters inserted, removed, replaced, and neighbours swapped.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> above, row(b.size() + 1), next(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], above[j - 2] + 1);
    }
    above = std::exchange(row, next);
  }
  return row.back();
}

}  // namespace

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char sign : text) quoted += sign == '"' ? "\"\"" : std::string(1, sign);
  return quoted + "\"";
}

std::string csv_text(const std::string& text) {
  const bool is_formula = !text.empty() && kFormulaSigns.find(text.front()) != kFormulaSigns.npos &&
                          !parse_number(text);
  return csv_field(is_formula ? "'" + text : text);
}

std::string with_commas(std::size_t number) {
  std::string text = std::to_string(number);
  for (std::size_t left = text.size(); left > 3; left -= 3) text.insert(left - 3, ",");
  return text;
}

std::optional<double> parse_number(std::string_view text) {
  const auto value = parse_exactly<double>(without_plus(trim(text)));
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  return parse_exactly<std::int64_t>(without_plus(trim(text)));
}

std::optional<double> parse_seconds(std::string_view text) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  constexpr Unit kUnits[] = {{"ms", .001}, {"s", 1}, {"m", 60}, {"h", 3'600}, {"d", 86'400}};
  text = trim(text);
  for (const Unit& unit : kUnits)
    if (text.ends_with(unit.name)) {
      const auto number = parse_number(text.substr(0, text.size() - unit.name.size()));
      return number ? std::optional(*number * unit.seconds) : std::nullopt;
    }
  return parse_number(text);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t stop = text.find(separator);
    const std::string_view part = trim(text.substr(0, stop));
    if (!part.empty()) parts.emplace_back(part);
    if (stop == std::string_view::npos) return parts;
    text.remove_prefix(stop + 1);
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string nearest(std::string_view written, const std::vector<std::string>& names) {
  std::string best;
  std::size_t limit = std::clamp<std::size_t>(written.size() / 3, 1, 3);
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(written, name);
    if (distance > limit || (distance == limit && !best.empty())) continue;
    best = name, limit = distance;
  }
  return best;
}

}  // namespace starling
