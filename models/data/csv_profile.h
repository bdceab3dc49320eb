// csv_profile: statistics of the cells of a table, column by column, in one pass over its text.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "models/data/csv_reader.h"
#include "models/data/data_options.h"
#include "models/data/survey.h"

namespace starling::models {

// Nearly all: this share of the cells that are not missing.
inline constexpr double kMostly = 0.9;
// A column of numbers may hold so many different words for a missing one.
inline constexpr std::size_t kMissingWordsLimit = 5;

// A number of cells of a column, and the first of them.
struct CellCount {
  std::size_t count = 0;
  std::string first;
  std::size_t line = 0;

  void add(std::string_view cell, std::size_t at_line);
};

struct ColumnProfile {
  std::string name;
  bool is_named = true;                           // by the header
  CellCount missing, numbers, words;              // each cell is one of these
  CellCount grouped, decimal_commas, times;       // kinds of words
  std::map<std::string, std::size_t> missing_as;  // "NA", …, and how often; "" for empty cells
  // Words without a digit and how often, up to one more than kMissingWordsLimit.
  std::map<std::string, std::size_t> plain_words;
  std::vector<std::string> missing_words;  // those that stand for a missing number; ascending
  Moments moments;                         // of the numbers
  double least = 0, most = 0;
  bool is_whole = true;                    // every number is
  bool has_points = false;                 // a number has a decimal point
  bool has_clear_groups = false;           // a cell such as 1,234,567 or 1,234.5
  bool counts_rows = true;                 // every cell is one more than the one above
  bool numbers_rows = false;               // see profile_csv()
  std::unordered_set<std::string> values;  // different cells, at most kWordsLimit + 1
  std::size_t longest_bytes = 0;           // of a word

  std::size_t present() const { return numbers.count + words.count; }
  // Whether nearly all cells are numbers of many values: amounts, not names.
  bool is_amount() const;
};

struct TableProfile {
  std::string path;
  char separator = ',';
  bool has_decimal_comma = false;      // 3,14 is a number
  std::vector<ColumnProfile> columns;  // as the file has them
  std::size_t rows = 0;

  const ColumnProfile* find(std::string_view name) const;
  std::string names() const;  // "age, sex, …"
};

// The records below the header, in the order of the file.
class CsvTable {
 public:
  // Reads the header, or makes one of numbers. `text` must outlive the table.
  static Result<CsvTable> open(const DataOptions& options, const std::string& path,
                               std::string_view text);

  const std::vector<std::string>& names() const { return names_; }
  bool is_named(std::size_t column) const { return is_named_[column]; }
  char separator() const { return separator_; }
  // False at the end. Every record has as many fields as there are names.
  Result<bool> next(std::vector<std::string>& fields);
  std::size_t line() const { return reader_.line(); }

 private:
  explicit CsvTable(CsvReader reader, char separator)
      : reader_(std::move(reader)), separator_(separator) {}
  Result<void> read_names(bool has_header);
  Result<void> check_text(const std::vector<std::string>& fields) const;

  CsvReader reader_;
  char separator_;
  std::vector<std::string> names_;
  std::vector<bool> is_named_;
  std::vector<std::string> first_;  // the first record, if it is not a header
  bool holds_first_ = false;
  std::size_t rows_ = 0;
};

// A first column without a name is taken for the shuffled numbers of rows, perhaps of a larger
// table, if it holds different whole numbers from 0 on, few times more than rows.
// In a column of numbers, apart from the target, a few different words without a digit count as
// missing, but none that may be a header.
Result<TableProfile> profile_csv(const DataOptions& options, const std::string& path,
                                 std::string_view text);

}  // namespace starling::models
