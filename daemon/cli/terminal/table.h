// Table and formats for the output of commands.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace starling::daemon {

// Columns as wide as their widest cell, two blanks apart, under a line of titles. A column whose
// title starts with '>' is flush right. A column with a '?' before that is left out if it is empty
// ("-" in every row), and, the last such first, if the table is wider than `width`.
class Table {
 public:
  explicit Table(std::vector<std::string> titles);
  // REQUIRES one cell a column.
  void add(std::vector<std::string> cells);
  std::string text(std::size_t width = SIZE_MAX) const;

 private:
  struct Column {
    bool is_flush_right = false, is_optional = false, is_shown = true;
    std::size_t width = 0;
  };
  std::vector<Column> columns_within(std::size_t width) const;

  std::vector<std::vector<std::string>> rows_;  // the titles first
  std::vector<Column> columns_;
};

// Columns of the terminal, or of COLUMNS; kNarrow without either, or at least.
inline constexpr std::size_t kNarrow = 60;
std::size_t display_width();

// 1234567 -> "1.23 MB"; powers of 1000.
std::string human_bytes(double bytes);
// 0.0031 -> "3.1 ms", 75 -> "1 min 15 s", 90000 -> "1 d 1 h".
std::string human_duration(double seconds);
// 0.9371 -> "93.7 %".
std::string human_fraction(double fraction);
// Three digits that count: "0.0312", "1.2e-07".
std::string human_number(double value);

enum class Spark { blocks, ascii };

// A curve of the values as one line of at most `width` blocks, from their least to their largest;
// on a logarithmic scale if they span two decades. Empty without values.
std::string sparkline(std::span<const double> values, std::size_t width,
                      Spark spark = Spark::blocks);

}  // namespace starling::daemon
