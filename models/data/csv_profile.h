// csv_profile: statistics of the cells of a table, column by column, in one pass over its text.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "models/data/columns/column_forms.h"
#include "models/data/columns/column_kind.h"
#include "models/data/csv_reader.h"
#include "models/data/data_options.h"
#include "models/data/survey.h"
#include "models/data/table_schema.h"

namespace starling::models {

// Nearly all: this share of the cells that are not missing.
inline constexpr double kMostly = 0.9;
// A column of numbers may hold so many different words for a missing one.
inline constexpr std::size_t kMissingWordsLimit = 5;
// Different numbers of a column whose cells are counted.
inline constexpr std::size_t kTalliesLimit = 2000;

struct ColumnProfile {
  std::string name;
  bool is_named = true;               // by the header
  double scale = 1;                   // of its numbers, by the site's dictionary
  ColumnForm form = {};               // the kind of the column, and how its cells are written
  CellCount missing, numbers, words;  // each cell is one of these
  CellForms forms;
  std::map<std::string, std::size_t> missing_as;  // "NA", …, and how often; "" for empty cells
  std::map<std::string, std::size_t> quoted_as;   // the same, of those in quotes
  // Words without a digit and how often, up to one more than kMissingWordsLimit.
  std::map<std::string, std::size_t> plain_words;
  std::vector<std::string> missing_words;  // those that stand for a missing number; ascending
  Moments moments;                         // of the numbers
  double least = 0, most = 0;
  std::map<double, std::size_t> tallies;   // how often each number, at most kTalliesLimit
  bool is_whole = true;                    // every number is
  bool counts_rows = true;                 // every cell is one more than the one above
  bool numbers_rows = false;               // see profile_csv()
  std::unordered_set<std::string> values;  // different cells, at most kWordsLimit + 1
  std::size_t longest_bytes = 0;           // of a word

  std::size_t present() const { return numbers.count + words.count; }
  // Whether nearly all cells are numbers, in any form, of many values: amounts, not names.
  bool is_amount() const;
};

// A number far from all others of its column that many cells have, as 999 has for "missing".
struct LoneNumber {
  double value = 0;
  std::size_t count = 0;
  double least = 0, most = 0;  // of the others
};
std::optional<LoneNumber> lone_number(const ColumnProfile& column);

struct TableProfile {
  std::string path;
  char separator = ',';
  TableMarks marks = {};
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

  // Of the columns that are kept, by the schema's names.
  const std::vector<std::string>& names() const { return names_; }
  bool is_named(std::size_t column) const { return is_named_[column]; }
  char separator() const { return separator_; }
  double scale(std::size_t column) const;
  // False at the end. Every record has as many fields as there are names.
  Result<bool> next(std::vector<Cell>& fields);
  std::size_t line() const { return reader_.line(); }

 private:
  explicit CsvTable(CsvReader reader, char separator)
      : reader_(std::move(reader)), separator_(separator) {}
  Result<void> read_names(bool has_header);
  Result<void> check_text(const std::vector<Cell>& fields) const;

  CsvReader reader_;
  char separator_;
  // The dictionary's entry for a column, or null.
  const DictionaryEntry* entry_of(const std::string& name) const;
  // Renames columns by the dictionary, and keeps those of the schema.
  Result<void> translate_names();
  // Takes the fields of a record of the file.
  void translate(std::vector<Cell>& fields) const;

  std::shared_ptr<const TableSchema> schema_;  // null: all columns are kept
  Dictionary dictionary_;                      // empty: all is called and written as in the file
  std::size_t fields_ = 0;                     // of a record
  std::vector<std::size_t> places_;            // in a record, of each column; empty: all, in order
  std::vector<std::string> names_;
  std::vector<bool> is_named_;
  std::vector<Cell> first_;  // the first record, if it is not a header
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
