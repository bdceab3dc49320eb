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
  Moments moments;                                // of the numbers
  double least = 0, most = 0;
  bool is_whole = true;                    // every number is
  bool counts_rows = true;                 // every cell is one more than the one above
  std::unordered_set<std::string> values;  // different cells, at most kWordsLimit + 1
  std::size_t longest_bytes = 0;           // of a word

  std::size_t present() const { return numbers.count + words.count; }
};

struct TableProfile {
  std::string path;
  char separator = ',';
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

Result<TableProfile> profile_csv(const DataOptions& options, const std::string& path,
                                 std::string_view text);

}  // namespace starling::models
