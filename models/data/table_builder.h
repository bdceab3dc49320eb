// TableBuilder: builds a data set from cells, or two that share their words and classes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "models/data/cell.h"
#include "models/data/dataset.h"

namespace starling::models {

// Of a cell. The squares of 10^12 such numbers add up to less than a survey may hold.
inline constexpr double kTableNumberLimit = 1e90;

// Which columns a table has and what each holds, so that any file with these columns can be read,
// in any order.
struct TableLayout {
  struct Column {
    std::string name;
    ColumnForm form = {};
  };
  std::vector<Column> columns;            // features
  std::string target;                     // empty: none, or none wanted
  bool classifies = false;                // the target is a class
  ColumnForm target_form = {};            // of amounts
  bool decimal_comma = false;             // 3,14 is a class of that number
  std::vector<std::string> missing = {};  // words that stand for a missing number; ascending
  std::vector<std::string> missing_cells = default_missing_words();  // what is missing anywhere
  bool folds_case = false;  // words that differ in case and blanks alone are one
  std::string key = {};     // the column that names a row; empty: none

  // Whether a cell of a feature, or of the target, is missing.
  bool is_missing(const Column& column, const Cell& cell) const;
  bool is_target_missing(const Cell& cell) const;
};

class TableBuilder {
 public:
  explicit TableBuilder(TableLayout layout);

  const TableLayout& layout() const { return layout_; }
  // Adds a row to `set`: the cells of the layout's columns, in their order, then that of the target
  // if there is one. What lies after it is the caller's. A missing number becomes NaN, a missing
  // word an empty one. After an error,
  // which names the column and the cell, `set` must not be used. REQUIRES a target that is not
  // missing.
  Result<void> add(std::span<const Cell> cells, Dataset& set);
  // Names the columns and the classes of a data set; once for each, after the last row of all.
  void finish(Dataset& set) const;

 private:
  using Codes = std::unordered_map<std::string, std::uint32_t>;  // by order of appearance

  static Result<std::uint32_t> code_of(Codes& codes, const std::string& word, std::size_t limit);
  Result<void> add_column(const TableLayout::Column& column, const Cell& cell, std::size_t& slot,
                          TableFeatures& table);
  // The parts of the cell's column but the first.
  Result<void> add_parts(const TableLayout::Column& column, std::string_view cell,
                         std::size_t& slot, TableFeatures& table);
  Result<void> add_target(const std::string& cell, Dataset& set);

  TableLayout layout_;
  std::vector<Codes> words_;       // by slot
  std::vector<PartValue> values_;  // of one cell
  Codes classes_;
};

}  // namespace starling::models
