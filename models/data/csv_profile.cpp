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

// A word counts as a mistake in the file, or as a way of saying "missing", in a column that mostly
// has numbers, and more different ones than these.
constexpr std::size_t kFewValues = 20;

void add_word(ColumnProfile& column, const std::string& cell, std::size_t line,
              bool decimal_comma) {
  column.words.add(cell, line);
  column.longest_bytes = std::max(column.longest_bytes, cell.size());
  if (is_timestamp(cell)) column.times.add(cell, line);
  if (has_thousands_separators(cell, decimal_comma)) {
    column.grouped.add(cell, line);
    column.has_clear_groups = column.has_clear_groups || !has_decimal_comma(cell);
  } else if (has_decimal_comma(cell)) {
    column.decimal_commas.add(cell, line);
  } else if (cell.find_first_of("0123456789") == std::string::npos &&
             column.plain_words.size() <= kMissingWordsLimit) {
    ++column.plain_words[cell];
  }
}

void add_number(ColumnProfile& column, const std::string& cell, double number, std::size_t line) {
  column.least = column.numbers.count == 0 ? number : std::min(column.least, number);
  column.most = column.numbers.count == 0 ? number : std::max(column.most, number);
  column.counts_rows =
      column.counts_rows && number == column.least + static_cast<double>(column.numbers.count);
  column.has_points = column.has_points || cell.find('.') != std::string::npos;
  column.is_whole = column.is_whole && number == std::floor(number);
  column.numbers.add(cell, line);
  column.moments.add(number);
}

void add_cell(ColumnProfile& column, const std::string& cell, std::size_t line,
              bool decimal_comma) {
  if (is_missing(cell)) {
    column.missing.add(cell, line);
    ++column.missing_as[cell];
    return;
  }
  if (column.values.size() <= kWordsLimit) column.values.insert(cell);
  if (const auto number = cell_number(cell, decimal_comma))
    add_number(column, cell, *number, line);
  else
    add_word(column, cell, line, decimal_comma);
}

// A part of a table has at most so many times fewer rows than the table.
constexpr double kPartsMost = 20;

bool are_row_numbers(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  const auto is_whole = [](double x) { return x == std::floor(x); };
  return !numbers.empty() && numbers.front() >= 0 &&
         numbers.back() <= kPartsMost * static_cast<double>(numbers.size()) &&
         std::ranges::all_of(numbers, is_whole) &&
         std::ranges::adjacent_find(numbers) == numbers.end();
}

// Takes rare words without a digit in a column of numbers for missing cells.
void take_words_for_missing(ColumnProfile& column) {
  std::size_t count = 0;
  for (const auto& [word, times] : column.plain_words) count += times;
  if (column.plain_words.empty() || count != column.words.count || !column.is_amount() ||
      column.plain_words.size() > kMissingWordsLimit)
    return;
  for (const auto& [word, times] : column.plain_words) {
    column.missing_words.push_back(word);
    column.missing_as[word] += times;
    column.values.erase(word);
  }
  column.missing.count += count;
  column.words = {};
}

// Whether a column of numbers has cells such as 3,14, and no cell says otherwise.
bool finds_decimal_comma(const TableProfile& profile, const DataOptions& options) {
  const auto is_used = [&](const ColumnProfile& column) {
    return std::ranges::count(options.ignore, column.name) == 0;
  };
  const auto has_commas = [&](const ColumnProfile& column) {
    const std::size_t numbers =
        column.numbers.count + column.grouped.count + column.decimal_commas.count;
    return is_used(column) && column.decimal_commas.count > 0 &&
           static_cast<double>(numbers) >= kMostly * static_cast<double>(column.present());
  };
  const auto contradicts = [&](const ColumnProfile& column) {
    return is_used(column) &&
           (column.has_clear_groups || (column.decimal_commas.count > 0 && column.has_points));
  };
  return std::ranges::any_of(profile.columns, has_commas) &&
         std::ranges::none_of(profile.columns, contradicts);
}

Result<TableProfile> profile_as(const DataOptions& options, const std::string& path,
                                std::string_view text, bool decimal_comma) {
  TRY(CsvTable table, CsvTable::open(options, path, text));
  TableProfile profile{.path = path,
                       .separator = table.separator(),
                       .has_decimal_comma = decimal_comma,
                       .columns = {},
                       .rows = 0};
  for (std::size_t c = 0; c < table.names().size(); ++c) {
    profile.columns.emplace_back().name = table.names()[c];
    profile.columns.back().is_named = table.is_named(c);
  }
  std::vector<std::string> fields;
  std::vector<double> numbers;  // of a first column without a name
  while (true) {
    TRY(const bool any, table.next(fields));
    if (!any) break;
    ++profile.rows;
    if (const auto number = cell_number(fields[0]); number && !table.is_named(0))
      numbers.push_back(*number);
    for (std::size_t c = 0; c < fields.size(); ++c)
      add_cell(profile.columns[c], fields[c], table.line(), decimal_comma);
  }
  profile.columns[0].numbers_rows =
      numbers.size() == profile.rows && are_row_numbers(std::move(numbers));
  return profile;
}

}  // namespace

void CellCount::add(std::string_view cell, std::size_t at_line) {
  if (count++ > 0) return;
  first = cell.substr(0, kCellShown);
  line = at_line;
}

bool ColumnProfile::is_amount() const {
  return static_cast<double>(numbers.count) >= kMostly * static_cast<double>(present()) &&
         values.size() > kFewValues;
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
  TRY(TableProfile profile, profile_as(options, path, text, options.decimal == Decimal::comma));
  if (options.decimal == Decimal::automatic && finds_decimal_comma(profile, options)) {
    TRY(profile, profile_as(options, path, text, true));
  }
  for (ColumnProfile& column : profile.columns)
    if (column.name != options.target && (options.has_header || column.words.line > 1))
      take_words_for_missing(column);
  return profile;
}

}  // namespace starling::models
