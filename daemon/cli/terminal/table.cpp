#include "daemon/cli/terminal/table.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "base/check.h"
#include "base/utf8.h"
#include "daemon/cli/terminal/text_width.h"

namespace starling::daemon {
namespace {

constexpr double kLogarithmicSpan = 100;
constexpr std::size_t kGap = 2;  // blanks between columns

}  // namespace

Table::Table(std::vector<std::string> titles) {
  for (std::string& title : titles) {
    Column column;
    column.is_optional = title.starts_with('?');
    if (column.is_optional) title.erase(0, 1);
    column.is_flush_right = title.starts_with('>');
    if (column.is_flush_right) title.erase(0, 1);
    columns_.push_back(column);
  }
  rows_.push_back(std::move(titles));
}

void Table::add(std::vector<std::string> cells) {
  ENSURE(cells.size() == columns_.size(), "a row has one cell a column");
  rows_.push_back(std::move(cells));
}

std::vector<Table::Column> Table::columns_within(std::size_t width) const {
  std::vector<Column> columns = columns_;
  std::size_t whole = 0;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    bool is_empty = rows_.size() > 1;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      columns[k].width = std::max(columns[k].width, columns_of(rows_[row][k]));
      is_empty &= row == 0 || rows_[row][k] == "-";
    }
    columns[k].is_shown = !(columns[k].is_optional && is_empty);
    if (columns[k].is_shown) whole += columns[k].width + (whole > 0 ? kGap : 0);
  }
  for (auto column = columns.rbegin(); column != columns.rend() && whole > width; ++column) {
    if (!column->is_optional || !column->is_shown) continue;
    column->is_shown = false;
    whole -= column->width + kGap;
  }
  return columns;
}

std::string Table::text(std::size_t width) const {
  const std::vector<Column> columns = columns_within(width);
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t k = 0; k < row.size(); ++k) {
      if (!columns[k].is_shown) continue;
      const std::string blanks(columns[k].width - columns_of(row[k]), ' ');
      if (!line.empty()) line.append(kGap, ' ');
      if (columns[k].is_flush_right) line += blanks;
      line += row[k];
      if (!columns[k].is_flush_right) line += blanks;
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::size_t display_width() {
  winsize size{};
  std::size_t width = 0;
  if (const char* columns = std::getenv("COLUMNS"))
    width = static_cast<std::size_t>(std::max(0, std::atoi(columns)));
  else if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
    width = size.ws_col;
  return std::max(kNarrow, width);
}

std::string human_bytes(double bytes) {
  constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  for (; bytes >= 999.5 && unit + 1 < kUnits.size(); ++unit) bytes /= 1000;
  const int decimals = unit == 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", bytes, decimals, kUnits[unit]);
}

std::string human_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds >= 1e15) return "forever";
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
  return fmt::format("{} d {} h", whole / 86400, whole % 86400 / 3600);
}

std::string human_fraction(double fraction) {
  return fmt::format("{:.1f} %", 100 * fraction);
}

std::string human_number(double value) {
  return fmt::format("{:.3g}", value);
}

std::string sparkline(std::span<const double> values, std::size_t width, Spark spark) {
  constexpr std::array kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array kAscii = {"_", ".", "-", "~", "=", "+", "*", "#"};
  const auto& marks = spark == Spark::ascii ? kAscii : kBlocks;
  if (values.empty() || width == 0) return {};
  const auto [least, most] = std::ranges::minmax(values);
  const bool logarithmic = least > 0 && most / least >= kLogarithmicSpan;
  const auto scale = [logarithmic](double value) { return logarithmic ? std::log(value) : value; };
  const double span = scale(most) - scale(least);
  const std::size_t blocks = std::min(width, values.size());
  std::string line;
  for (std::size_t k = 0; k < blocks; ++k) {
    // The first and the last value are always shown.
    const std::size_t place =
        blocks == 1 ? values.size() - 1 : k * (values.size() - 1) / (blocks - 1);
    const double height = span > 0 ? (scale(values[place]) - scale(least)) / span : 0;
    line += marks[static_cast<std::size_t>(
        std::lround(height * static_cast<double>(marks.size() - 1)))];
  }
  return line;
}

}  // namespace starling::daemon
