#include "models/data/csv.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "base/text.h"
#include "models/data/cell.h"
#include "models/data/csv_layout.h"
#include "models/data/encoding.h"
#include "models/data/gz_file.h"
#include "models/data/row_hashes.h"
#include "models/data/row_match.h"
#include "models/data/table_notes.h"

namespace starling::models {
namespace {

using Cells = std::vector<Cell>;

struct Count {
  std::size_t rows = 0;
  std::size_t dropped = 0;   // for a missing cell, except the target's and the key's
  std::size_t nameless = 0;  // without a key
};

// The lines of one file by their keys, none twice.
using KeyLines = std::unordered_map<std::string, std::size_t>;

// The places in the file of the layout's columns, then that of the target, then that of the key.
Result<std::vector<std::size_t>> places(const CsvTable& table, const std::string& path,
                                        const TableLayout& layout) {
  std::vector<std::size_t> places;
  std::vector<std::string_view> absent;
  const auto find = [&](const std::string& name) {
    const auto found = std::ranges::find(table.names(), name);
    if (found == table.names().end()) absent.push_back(name);
    places.push_back(static_cast<std::size_t>(found - table.names().begin()));
  };
  for (const auto& column : layout.columns) find(column.name);
  if (!layout.target.empty()) find(layout.target);
  if (!layout.key.empty()) find(layout.key);
  if (!absent.empty())
    return fail("{}: has no column {}; its columns are {}", path, fmt::join(absent, ", "),
                fmt::join(table.names(), ", "));
  return places;
}

// The name of the first column of the layout whose cell is missing; empty for none.
std::string_view missing_column(const TableLayout& layout, const Cells& cells) {
  for (std::size_t c = 0; c < layout.columns.size(); ++c)
    if (layout.is_missing(layout.columns[c], cells[c])) return layout.columns[c].name;
  return {};
}

const Cell& target_cell(const TableLayout& layout, const Cells& cells) {
  return cells[layout.columns.size()];
}

bool has_target(const TableLayout& layout, const Cells& cells) {
  return layout.target.empty() || !layout.is_target_missing(target_cell(layout, cells));
}

bool has_key(const TableLayout& layout, const Cells& cells) {
  return layout.key.empty() || !is_missing(cells.back().text, layout.missing_cells);
}

// Whether a row with these cells is used; an error if options.missing makes a missing cell one.
Result<bool> is_used(const DataOptions& options, const TableLayout& layout, const Cells& cells) {
  const std::string_view missing =
      options.missing == Missing::impute ? "" : missing_column(layout, cells);
  if (options.missing == Missing::error && (!missing.empty() || !has_target(layout, cells)))
    return fail("no {}, and data.missing = error",
                missing.empty() ? std::string_view(layout.target) : missing);
  return has_target(layout, cells) && missing.empty();
}

// Of a target that is scaled by its logarithm.
Result<void> check_log(const DataOptions& options, const TableLayout& layout, const Cells& cells,
                       const Dataset& set) {
  if (options.target_scale == TargetScale::plain || set.targets.empty() || set.targets.back() > 0)
    return {};
  return fail(
      "target {} holds {}, and data.target-scale = log needs amounts above 0; expected such, or "
      "plain",
      options.target, target_cell(layout, cells).text.substr(0, 40));
}

// Gives the cells of every row that is used, in the order of the layout, and its line to `take`.
Result<Count> for_each_row(const DataOptions& options, const std::string& path,
                           std::string_view text, const TableLayout& layout, auto take) {
  TRY(CsvTable table, CsvTable::open(options, path, text));
  TRY(const std::vector<std::size_t> where, places(table, path, layout));
  Cells fields;
  Cells cells(where.size());
  Count count;
  while (true) {
    TRY(const bool any, table.next(fields));
    if (!any) return count;
    ++count.rows;
    for (std::size_t c = 0; c < where.size(); ++c) std::swap(cells[c], fields[where[c]]);
    const Result<bool> used = is_used(options, layout, cells);
    if (!used) return fail("{}: line {}: {}", path, table.line(), used.error().text);
    const bool is_named = has_key(layout, cells);
    if (!is_named)
      ++count.nameless;
    else if (!*used && has_target(layout, cells))
      ++count.dropped;
    if (*used && is_named)
      if (const Result<void> taken = take(cells, table.line()); !taken)
        return fail("{}: line {}: {}", path, table.line(), taken.error().text);
    for (std::size_t c = 0; c < where.size(); ++c) std::swap(cells[c], fields[where[c]]);
  }
}

Result<void> add_row(const DataOptions& options, TableBuilder& builder, const Cells& cells,
                     std::size_t line, KeyLines& lines, Dataset& set) {
  TRY_DO(builder.add(cells, set));
  if (const std::string& column = builder.layout().key; !column.empty()) {
    const std::string& key = cells.back().text;
    if (const auto [found, is_new] = lines.emplace(key, line); !is_new)
      return fail("{} holds \"{}\", and so does line {}; data.key names a row, expected it once",
                  column, key.substr(0, 40), found->second);
    set.keys.push_back(key);
  }
  return check_log(options, builder.layout(), cells, set);
}

std::vector<std::string> notes_of(const Count& count, const std::string& path,
                                  const std::string& prefix) {
  std::vector<std::string> notes;
  const std::string where = prefix.empty() ? "" : path + ": ";
  if (count.dropped > 0)
    notes.push_back(fmt::format("{}dropped {} of {} rows with a missing cell (data.missing = drop)",
                                where, with_commas(count.dropped), with_commas(count.rows)));
  if (count.nameless > 0)
    notes.push_back(fmt::format("{}left out {} of {} rows without a key", where,
                                with_commas(count.nameless), with_commas(count.rows)));
  return notes;
}

// What the rows hold that makes errors look smaller than they are.
void note_rows(const DataOptions& options, std::vector<std::uint64_t> rows, Data& data) {
  for (std::optional<std::string> note :
       {repeated_rows_note(std::move(rows), row_hashes(data.test)), rare_class_note(data),
        heavy_tail_note(data, options.target, options.target_scale)})
    if (note) data.notes.push_back(*std::move(note));
  if (data.test.rows == 0 && options.test_path.empty())
    data.notes.emplace_back(
        "no row is held out (data.holdout = 0): loss and accuracy are those of the rows that are "
        "trained on, and new rows are answered worse");
}

std::string describe(const Data& data, const DataOptions& options) {
  const Dataset& train = data.train;
  const std::string classes =
      train.classes > 0 ? fmt::format(" ({} classes)", with_commas(train.classes)) : "";
  if (options.split == Split::columns)
    return fmt::format(
        "csv: {} rows of {} columns{}, named by {}", with_commas(train.rows), train.columns,
        train.has_truth() ? fmt::format(" and of {}", options.target) : ", without the target",
        options.key);
  return fmt::format("csv: {} rows of {} columns that predict {}{}, {} held out",
                     with_commas(train.rows), train.columns, options.target, classes,
                     with_commas(data.test.rows));
}

}  // namespace

Result<std::string> read_table_text(const DataOptions& options, const std::string& path) {
  TRY(std::string text, read_text(path));
  return to_utf8(std::move(text), options.encoding, path);
}

Result<TableLayout> as_written(TableLayout layout, const DataOptions& options,
                               const std::string& path) {
  TRY(const std::string text, read_table_text(options, path));
  TRY(const TableProfile profile, profile_csv(options, path, text));
  for (TableLayout::Column& column : layout.columns)
    if (const ColumnProfile* const found = profile.find(column.name))
      if (found->form.kind == column.form.kind) column.form = found->form;
  if (const ColumnProfile* const target = profile.find(layout.target))
    if (target->form.kind == layout.target_form.kind) layout.target_form = target->form;
  if (profile.marks.decimal_comma) layout.decimal_comma = *profile.marks.decimal_comma;
  return layout;
}

Result<std::vector<std::string>> read_rows(const DataOptions& options, const std::string& path,
                                           TableBuilder& builder, Dataset& set) {
  TRY(const std::string text, read_table_text(options, path));
  TRY(const Count count,
      for_each_row(options, path, text, builder.layout(),
                   [&, lines = KeyLines()](const Cells& cells, std::size_t line) mutable {
                     return add_row(options, builder, cells, line, lines, set);
                   }));
  return notes_of(count, path, path);
}

Result<Data> read_csv(const DataOptions& options) {
  TRY(const std::string text, read_table_text(options, options.path));
  TRY(const TableProfile profile, profile_csv(options, options.path, text));
  CsvDecision decision = decide_layout(profile, options);
  if (!decision.refusals.empty())
    return fail("{}: {}", options.path,
                fmt::join(decision.refusals, fmt::format("\n{}: ", options.path)));
  Data data;
  data.notes = std::move(decision.notes);
  TableBuilder builder(std::move(decision.layout));
  std::uint64_t row = 0;
  const bool has_test = !options.test_path.empty();
  TRY(const Count count,
      for_each_row(options, options.path, text, builder.layout(),
                   [&, lines = KeyLines()](const Cells& cells, std::size_t line) mutable {
                     Dataset& set = is_held_out(options, row++) ? data.test : data.train;
                     return add_row(options, builder, cells, line, lines, set);
                   }));
  std::ranges::move(notes_of(count, options.path, ""), std::back_inserter(data.notes));
  if (has_test) {
    TRY(auto notes, read_rows(options, options.test_path, builder, data.test));
    std::ranges::move(notes, std::back_inserter(data.notes));
  }
  if (options.target_scale == TargetScale::log && builder.layout().classifies)
    return fail("{}: data.target-scale = log, and target {} holds classes; expected plain",
                options.path, options.target);
  if (data.train.rows == 0) return fail("{}: no complete row to train on", options.path);
  if (options.split == Split::columns && data.train.rows > kMatchedRowsLimit)
    return fail("{}: {} rows; data.split = columns matches at most {} of a site", options.path,
                with_commas(data.train.rows), with_commas(kMatchedRowsLimit));
  builder.finish(data.train);
  builder.finish(data.test);
  std::vector<std::uint64_t> rows = row_hashes(data.train);
  data.train_hash = hash_in_order(rows);
  if (options.split == Split::rows)
    note_rows(options, std::move(rows), data);
  else if (data.train.has_truth())
    data.notes.emplace_back(
        "no row is held out (data.split = columns): loss and accuracy are those of the rows that "
        "are trained on, and new rows are answered worse");
  data.description = describe(data, options);
  return data;
}

}  // namespace starling::models
