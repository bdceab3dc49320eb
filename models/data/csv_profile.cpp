#include "models/data/csv_profile.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/utf8.h"
#include "models/data/cell.h"
#include "models/data/csv.h"

namespace starling::models {
namespace {

constexpr std::size_t kCellShown = 40;  // bytes of a cell in a message

void add_word(ColumnProfile& column, const std::string& cell, std::size_t line) {
  column.words.add(cell, line);
  column.longest_bytes = std::max(column.longest_bytes, cell.size());
  if (is_timestamp(cell)) column.times.add(cell, line);
  if (has_thousands_separators(cell))
    column.grouped.add(cell, line);
  else if (has_decimal_comma(cell))
    column.decimal_commas.add(cell, line);
}

void add_number(ColumnProfile& column, const std::string& cell, double number, std::size_t line) {
  column.least = column.numbers.count == 0 ? number : std::min(column.least, number);
  column.most = column.numbers.count == 0 ? number : std::max(column.most, number);
  column.counts_rows =
      column.counts_rows && number == column.least + static_cast<double>(column.numbers.count);
  column.is_whole = column.is_whole && number == std::floor(number);
  column.numbers.add(cell, line);
  column.moments.add(number);
}

void add_cell(ColumnProfile& column, const std::string& cell, std::size_t line) {
  if (is_missing(cell)) {
    column.missing.add(cell, line);
    ++column.missing_as[cell];
    return;
  }
  if (column.values.size() <= kWordsLimit) column.values.insert(cell);
  if (const auto number = cell_number(cell))
    add_number(column, cell, *number, line);
  else
    add_word(column, cell, line);
}

}  // namespace

void CellCount::add(std::string_view cell, std::size_t at_line) {
  if (count++ > 0) return;
  first = cell.substr(0, kCellShown);
  line = at_line;
}

const ColumnProfile* TableProfile::find(std::string_view name) const {
  const auto found = std::ranges::find(columns, name, &ColumnProfile::name);
  return found == columns.end() ? nullptr : &*found;
}

std::string TableProfile::names() const {
  std::vector<std::string_view> names;
  for (const ColumnProfile& column : columns) names.push_back(column.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<CsvTable> CsvTable::open(const DataOptions& options, const std::string& path,
                                std::string_view text) {
  const char separator = options.separator == 0 ? find_separator(text) : options.separator;
  CsvTable table(CsvReader(path, text, separator), separator);
  TRY_DO(table.read_names(options.has_header));
  return table;
}

Result<void> CsvTable::read_names(bool has_header) {
  TRY(const bool any, reader_.next(first_));
  if (!any) return fail("{}: empty, expected a table with a header", reader_.path());
  if (first_.size() > kTableColumnsLimit)
    return fail("{}: {} columns, expected at most {}", reader_.path(), first_.size(),
                kTableColumnsLimit);
  TRY_DO(check_text(first_));
  const auto is_value = [](const std::string& cell) { return cell_number(cell).has_value(); };
  if (has_header && std::ranges::any_of(first_, is_value))
    return fail(
        "{}: line {}: \"{}\" looks like data, not like the name of a column; if the file has no "
        "header, data.header = false names the columns 1 to {}",
        reader_.path(), reader_.line(), *std::ranges::find_if(first_, is_value), first_.size());
  for (std::size_t c = 0; c < first_.size(); ++c) {
    is_named_.push_back(has_header && !first_[c].empty());
    names_.push_back(is_named_[c] ? first_[c] : fmt::to_string(c + 1));
  }
  holds_first_ = !has_header;
  std::set<std::string_view> seen;
  for (const std::string& name : names_)
    if (name.size() > kWordBytesLimit || !seen.insert(name).second)
      return fail("{}: line {}: the header names a column \"{}\" twice, or too long",
                  reader_.path(), reader_.line(), name.substr(0, kCellShown));
  if (names_.size() < 2)
    return fail("{}: only one column, \"{}\"; expected several between {}", reader_.path(),
                names_[0].substr(0, kCellShown), "commas, semicolons or tabs (data.separator)");
  return {};
}

// Other text could not be written into a model's file and found again.
Result<void> CsvTable::check_text(const std::vector<std::string>& fields) const {
  for (const std::string& field : fields)
    if (!is_utf8(field))
      return fail("{}: line {}: is not UTF-8; `iconv -f latin1 -t utf-8` may make it so",
                  reader_.path(), reader_.line());
  return {};
}

Result<bool> CsvTable::next(std::vector<std::string>& fields) {
  if (std::exchange(holds_first_, false)) {
    fields = first_;
  } else {
    TRY(const bool any, reader_.next(fields));
    if (!any) return false;
  }
  if (fields.size() != names_.size())
    return fail("{}: line {}: {} fields, expected {} as in the header", reader_.path(),
                reader_.line(), fields.size(), names_.size());
  TRY_DO(check_text(fields));
  if (++rows_ > kRowsLimit) return fail("{}: more than {} rows", reader_.path(), kRowsLimit);
  return true;
}

Result<TableProfile> profile_csv(const DataOptions& options, const std::string& path,
                                 std::string_view text) {
  TRY(CsvTable table, CsvTable::open(options, path, text));
  TableProfile profile{.path = path, .separator = table.separator(), .columns = {}, .rows = 0};
  for (std::size_t c = 0; c < table.names().size(); ++c) {
    profile.columns.emplace_back().name = table.names()[c];
    profile.columns.back().is_named = table.is_named(c);
  }
  std::vector<std::string> fields;
  while (true) {
    TRY(const bool any, table.next(fields));
    if (!any) return profile;
    ++profile.rows;
    for (std::size_t c = 0; c < fields.size(); ++c)
      add_cell(profile.columns[c], fields[c], table.line());
  }
}

}  // namespace starling::models
