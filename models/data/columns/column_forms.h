// column_forms: how the cells of a column write numbers and dates, counted, so that a kind can be
// chosen for the column.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace starling::models {

struct NumberCell;

// A number of cells of a column, and the first of them.
struct CellCount {
  std::size_t count = 0;
  std::string first;
  std::size_t line = 0;

  void add(std::string_view cell, std::size_t at_line);
};

// What is known of the decimal mark of all numbers of a table.
struct TableMarks {
  std::optional<bool> decimal_comma = {};  // none: neither proven nor set
  bool is_set = false;                     // by data.decimal
  bool is_mixed = false;                   // some columns prove a comma, others a point
  bool is_plain = false;                   // only digits alone are numbers, and no dates are read

  bool commas() const { return decimal_comma.value_or(false); }
};

struct NumberForms {
  CellCount amounts;  // cells that are numbers in any form; each counts in the following, too
  CellCount point, comma, point_or_groups, comma_or_groups;  // by their marks; others have none
  CellCount comma_groups;                                    // of `point`, such as 1,234.5
  CellCount limits;                                          // <0.05
  CellCount formatted;                     // with a unit, a limit or marks of groups
  CellCount decorated;                     // not by digits, sign, point and exponent alone
  std::map<std::string, CellCount> units;  // at most kUnitsLimit; "": none
  double most_bare = 0;                    // the largest absolute number without marks

  // Reads the cell; returns whether it is a number in some form.
  bool add(std::string_view cell, std::size_t line);
  // The unit of nearly all numbers, or "".
  std::string common_unit() const;
  // Cells with that unit or without any.
  std::size_t with_unit(const std::string& unit) const;
  // Whether the marks of all cells have one meaning.
  bool are_clear(const TableMarks& table) const;

  static constexpr std::size_t kUnitsLimit = 8;

 private:
  void add_marks(const NumberCell& number, std::string_view cell, std::size_t line);
};

struct DateForms {
  CellCount dates, times;            // times of day alone
  CellCount day_first, month_first;  // dates that prove their order
  CellCount ambiguous;               // dates that another order would make others
  CellCount compact;                 // 20130131
  bool has_times = false;            // a date has a time of day

  void add(std::string_view cell, std::size_t line);
};

// What is counted of the cells of a column whose kind is not known yet.
struct CellForms {
  NumberForms numbers;
  DateForms dates;

  void add(std::string_view cell, std::size_t line);
};

}  // namespace starling::models
