#include "models/data/csv.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "models/data/cell.h"
#include "models/data/csv_layout.h"
#include "models/data/encoding.h"
#include "models/data/gz_file.h"
#include "models/data/row_hashes.h"
#include "models/data/table_notes.h"

namespace starling::models {
namespace {

using Cells = std::vector<Cell>;

struct Count {
  std::size_t rows = 0;
  std::size_t dropped = 0;  // for a missing cell, except the target's
};

// The places in the file of the layout's columns, then that of the target.
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

bool has_target(const TableLayout& layout, const Cells& cells) {
  return layout.target.empty() || !layout.is_target_missing(cells.back());
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
Result<void> check_log(const DataOptions& options, const Cells& cells, const Dataset& set) {
  if (options.target_scale == TargetScale::plain || set.targets.empty() || set.targets.back() > 0)
    return {};
  return fail(
      "target {} holds {}, and data.target-scale = log needs amounts above 0; expected such, or "
      "plain",
      options.target, cells.back().text.substr(0, 40));
}

// Gives the cells of every row that is used, in the order of the layout, to `take`.
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
    if (!*used && has_target(layout, cells)) ++count.dropped;
    if (*used)
      if (const Result<void> taken = take(cells); !taken)
        return fail("{}: line {}: {}", path, table.line(), taken.error().text);
    for (std::size_t c = 0; c < where.size(); ++c) std::swap(cells[c], fields[where[c]]);
  }
}

std::vector<std::string> notes_of(const Count& count, const std::string& path,
                                  const std::string& prefix) {
  if (count.dropped == 0) return {};
  return {fmt::format("{}dropped {} of {} rows with a missing cell (data.missing = drop)",
                      prefix.empty() ? "" : path + ": ", with_commas(count.dropped),
                      with_commas(count.rows))};
}

std::string describe(const Data& data, const DataOptions& options) {
  const Dataset& train = data.train;
  const std::string classes =
      train.classes > 0 ? fmt::format(" ({} classes)", with_commas(train.classes)) : "";
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
      for_each_row(options, path, text, builder.layout(), [&](const Cells& cells) -> Result<void> {
        TRY_DO(builder.add(cells, set));
        return check_log(options, cells, set);
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
  TRY(const Count count, for_each_row(options, options.path, text, builder.layout(),
                                      [&](const Cells& cells) -> Result<void> {
                                        Dataset& set =
                                            is_held_out(options, row++) ? data.test : data.train;
                                        TRY_DO(builder.add(cells, set));
                                        return check_log(options, cells, set);
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
  builder.finish(data.train);
  builder.finish(data.test);
  std::vector<std::uint64_t> rows = row_hashes(data.train);
  data.train_hash = hash_in_order(rows);
  for (std::optional<std::string> note :
       {repeated_rows_note(std::move(rows), row_hashes(data.test)), rare_class_note(data),
        heavy_tail_note(data, options.target, options.target_scale)})
    if (note) data.notes.push_back(*std::move(note));
  if (data.test.rows == 0 && !has_test)
    data.notes.emplace_back(
        "no row is held out (data.holdout = 0): loss and accuracy are those of the rows that are "
        "trained on, and new rows are answered worse");
  data.description = describe(data, options);
  return data;
}

}  // namespace starling::models
