#include "base/utc.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace starling {

std::string utc_text(std::uint64_t seconds) {
  using std::chrono::days, std::chrono::floor, std::chrono::sys_seconds;
  const sys_seconds time{std::chrono::seconds(std::min(seconds, kLatestMoment))};
  const auto day = floor<days>(time);
  const std::chrono::year_month_day date(day);
  const auto minutes = floor<std::chrono::minutes>(time - day).count();
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02} UTC", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     minutes / 60, minutes % 60);
}

}  // namespace starling
