// ColumnKind: what the cells of a column stand for, and how they become numbers and words. A kind
// is one class and one row of column_kinds(); profiles, surveys, features and model files know only
// its parts. To add a kind of column: a class and a row in models/data/columns/column_kind.cpp, a
// file for its cells beside it, its counts in column_forms.h. To add a field of ColumnForm:
// models/data/survey_text.cpp, survey_notes.cpp and daemon/process/model_file.cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "models/data/columns/date_cell.h"

namespace starling::models {

class ColumnKind;
struct ColumnProfile;
struct TableMarks;

// The contents of a part of a column. An empty one has only missing cells, so it may be either.
enum class Content { empty, numbers, words };

// How the cells of a column are written in a file.
struct ColumnForm {
  const ColumnKind* kind = nullptr;
  bool decimal_comma = false;  // 1,234 and 1.234 are 1.234 and 1234
  DateOrder order = DateOrder::unknown;
  std::string unit = {};       // of the numbers, for other sites; empty: none
  std::string cell_unit = {};  // as the cells have it, where a dictionary says another; own
  double scale = 1;            // of the numbers, to what the model takes; own
  bool has_limits = false;     // some cells are limits of detection
  bool has_times = false;      // some dates have a time of day

  // Of the first part.
  Content content() const;
  bool has_numbers() const { return kind && content() == Content::numbers; }
  bool operator==(const ColumnForm&) const = default;
};

// What a column becomes: the part without a suffix has the column's name, the others are named
// "COLUMN SUFFIX".
struct PartRow {
  std::string_view suffix;
  Content content = Content::numbers;
};

// Of one cell, for one part.
struct PartValue {
  double number = 0;  // NaN: missing
  std::string word;   // empty: missing
};

class ColumnKind {
 public:
  virtual ~ColumnKind() = default;

  // In surveys, in model files and for people: "number".
  virtual std::string_view name() const = 0;
  // How the cells of a column with this profile are written, if they are of the kind. Kinds are
  // asked in the order of column_kinds(). `table` reads what the column does not prove.
  virtual std::optional<ColumnForm> form_of(const ColumnProfile& column,
                                            const TableMarks& table) const = 0;
  // The cell's number, for kinds whose first part has numbers; none: it is no such cell.
  virtual std::optional<double> number(std::string_view, const ColumnForm&) const { return {}; }
  // In an order that never changes: the first without a suffix.
  virtual std::span<const PartRow> parts(const ColumnForm& form) const = 0;
  // The values of the parts after the first one; an empty cell is a missing one. REQUIRES
  // values.size() == parts(form).size() - 1, and a cell that number() takes or that is missing.
  virtual void fill(std::string_view, const ColumnForm&, std::span<PartValue>) const {}
  // A number of the first part as people write it.
  virtual std::string show(double number) const;
};

std::span<const ColumnKind* const> column_kinds();
// Of those that a column with values may have, for errors: "date, time, number, boolean, words".
std::string names_of_kinds();
// Null: there is none of that name.
const ColumnKind* column_kind_named(std::string_view name);
// Of a column of which only this is known: numbers, words or nothing.
ColumnForm plain_form(Content content, bool decimal_comma = false);
// "COLUMN", or "COLUMN SUFFIX".
std::string part_name(std::string_view column, const PartRow& part);

}  // namespace starling::models
