// date_cell: dates and times of day in cells: 2013-01-31, 31.01.2013, 31/1/13, 31-JAN-2013,
// 20130131, each with a time after it or not: 2013-01-31T12:30:00Z, 31.01.2013 12:30.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace starling::models {

// Which of the first two numbers of 3/4/2013 is the day.
enum class DateOrder { unknown, day_first, month_first };

struct DateCell {
  std::chrono::sys_days day;
  double hours = 0;  // since midnight, as written, whatever the zone
  bool has_time = false;
  // What the cell proves: unknown where both orders give this or another date, and where the order
  // does not matter.
  DateOrder order = DateOrder::unknown;
  bool is_ambiguous = false;  // another order gives another date
};

// None: no date. Ambiguous dates are read by `order`; with points, and by default, day first.
std::optional<DateCell> split_date(std::string_view cell, DateOrder order);

// Hours since midnight of 12:30, 9:05:01.5, 23:59:59+01:00, 1:30 PM; none: no time of day.
std::optional<double> split_time(std::string_view cell);

}  // namespace starling::models
