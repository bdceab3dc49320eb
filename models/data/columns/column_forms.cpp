#include "models/data/columns/column_forms.h"

#include <algorithm>
#include <cmath>
#include <ranges>

#include "models/data/columns/date_cell.h"
#include "models/data/columns/number_cell.h"

namespace starling::models {
namespace {

constexpr std::size_t kCellShown = 40;  // bytes of a cell in a message
// A unit counts if this share of the numbers has it.
constexpr double kUnitMostly = 0.9;
// The first number that is written with groups.
constexpr double kLeastGrouped = 1000;
constexpr std::size_t kCompactDigits = 8;

// What most cells are: no marks, no unit.
std::optional<double> whole_number(std::string_view cell) {
  constexpr std::size_t kDigits = 15;  // that are exact
  if (cell.empty() || cell.size() > kDigits || !std::ranges::all_of(cell, is_digit))
    return std::nullopt;
  double value = 0;
  for (const char digit : cell) value = 10 * value + (digit - '0');
  return value;
}

}  // namespace

void CellCount::add(std::string_view cell, std::size_t at_line) {
  if (count++ > 0) return;
  first = cell.substr(0, kCellShown);
  line = at_line;
}

bool NumberForms::add(std::string_view cell, std::size_t line) {
  if (const auto whole = whole_number(cell)) {
    amounts.add(cell, line);
    units[""].add(cell, line);
    most_bare = std::max(most_bare, *whole);
    return true;
  }
  const auto number = split_number(cell);
  if (!number || !std::isfinite(value_of(*number, false))) return false;
  amounts.add(cell, line);
  if (number->limit != 0) limits.add(cell, line);
  if (units.size() < kUnitsLimit || units.contains(number->unit))
    units[number->unit].add(cell, line);
  add_marks(*number, cell, line);
  return true;
}

void NumberForms::add_marks(const NumberCell& number, std::string_view cell, std::size_t line) {
  CellCount* const counts[] = {nullptr, &point, &comma, &point_or_groups, &comma_or_groups};
  if (CellCount* const count = counts[static_cast<std::size_t>(number.marks)])
    count->add(cell, line);
  else
    most_bare = std::max(most_bare, std::abs(value_of(number, false)));
  const bool has_comma = number.digits.find(',') != std::string::npos;
  const bool has_groups = has_comma && number.digits.find('.') != std::string::npos;
  const bool is_formatted =
      !number.is_plain || has_groups || number.marks == Marks::comma_or_groups;
  if (number.marks == Marks::point && has_comma) comma_groups.add(cell, line);
  if (is_formatted) formatted.add(cell, line);
  if (is_formatted || has_comma) decorated.add(cell, line);
}

std::string NumberForms::common_unit() const {
  for (const auto& [unit, cells] : units)
    if (!unit.empty() &&
        static_cast<double>(cells.count) >= kUnitMostly * static_cast<double>(amounts.count))
      return unit;
  return {};
}

std::size_t NumberForms::with_unit(const std::string& unit) const {
  std::size_t count = 0;
  for (const auto& [name, cells] : units)
    if (name.empty() || name == unit) count += cells.count;
  return count;
}

bool NumberForms::are_clear(const TableMarks& table) const {
  if (table.is_plain &&
      decorated.count > (table.commas() ? comma.count + comma_or_groups.count : 0))
    return false;
  if (comma.count > 0 && (table.is_mixed || table.decimal_comma == false)) return false;
  if (comma.count > 0 && point.count > 0) return table.commas();
  // Numbers below a thousand have no groups, so those with groups are above.
  const bool has_bare = most_bare > 0 && most_bare < kLeastGrouped;
  return comma_or_groups.count == 0 || comma.count > 0 || point.count > 0 ||
         table.decimal_comma.has_value() || has_bare;
}

void DateForms::add(std::string_view cell, std::size_t line) {
  if (cell.empty() || !is_digit(cell.front())) return;
  if (split_time(cell)) return times.add(cell, line);
  const auto date = split_date(cell, DateOrder::unknown);
  if (!date) return;
  dates.add(cell, line);
  has_times = has_times || date->has_time;
  if (std::ranges::all_of(cell.substr(0, kCompactDigits), is_digit)) compact.add(cell, line);
  if (date->is_ambiguous) ambiguous.add(cell, line);
  if (date->order == DateOrder::day_first) day_first.add(cell, line);
  if (date->order == DateOrder::month_first) month_first.add(cell, line);
}

void CellForms::add(std::string_view cell, std::size_t line) {
  const bool is_number = numbers.add(cell, line);
  if (!is_number || cell.size() == kCompactDigits) dates.add(cell, line);
}

}  // namespace starling::models
