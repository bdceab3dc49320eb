#include "models/data/csv_profile.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/utf8.h"
#include "models/data/csv.h"

namespace starling::models {
namespace {

constexpr std::size_t kNameShown = 40;  // bytes of a name in a message

// A word counts as a mistake in the file, or as a way of saying "missing", in a column that mostly
// has numbers, and more different ones than these.
constexpr std::size_t kFewValues = 20;

void add_word(ColumnProfile& column, const std::string& cell, std::size_t line) {
  column.words.add(cell, line);
  column.longest_bytes = std::max(column.longest_bytes, cell.size());
  if (cell.find_first_of("0123456789") == std::string::npos &&
      column.plain_words.size() <= kMissingWordsLimit)
    ++column.plain_words[cell];
}

void add_number(ColumnProfile& column, const std::string& cell, double number, std::size_t line) {
  column.least = column.numbers.count == 0 ? number : std::min(column.least, number);
  column.most = column.numbers.count == 0 ? number : std::max(column.most, number);
  column.counts_rows =
      column.counts_rows && number == column.least + static_cast<double>(column.numbers.count);
  column.is_whole = column.is_whole && number == std::floor(number);
  column.numbers.add(cell, line);
  column.moments.add(number);
  if (column.tallies.size() < kTalliesLimit || column.tallies.contains(number))
    ++column.tallies[number];
}

// Of a column whose kind is known, or null.
void add_cell(ColumnProfile& column, const Cell& cell, std::size_t line,
              const DataOptions& options) {
  if (is_missing(cell.text, options.missing_words)) {
    if (cell.is_quoted && !cell.text.empty()) ++column.quoted_as[cell.text];
    column.missing.add(cell.text, line);
    ++column.missing_as[cell.text];
    return;
  }
  if (column.values.size() <= kWordsLimit) column.values.insert(cell.text);
  if (!column.form.kind) column.forms.add(cell.text, line);
  const bool has_numbers = column.form.kind && column.form.content() == Content::numbers;
  const auto number =
      has_numbers ? column.form.kind->number(cell.text, column.form) : cell_number(cell.text);
  if (number)
    add_number(column, cell.text, *number, line);
  else
    add_word(column, cell.text, line);
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

// What the columns that are used prove of the decimal mark.
TableMarks marks_of(const TableProfile& profile, const DataOptions& options) {
  TableMarks marks{.is_plain = options.numbers == Numbers::plain};
  if (options.decimal != Decimal::automatic) {
    marks.decimal_comma = options.decimal == Decimal::comma;
    marks.is_set = true;
    return marks;
  }
  const auto any = [&](auto proves) {
    return std::ranges::any_of(profile.columns, [&](const ColumnProfile& column) {
      return std::ranges::count(options.ignore, column.name) == 0 && proves(column);
    });
  };
  const auto are_numbers = [](const ColumnProfile& column) {
    return static_cast<double>(column.forms.numbers.amounts.count) >=
           kMostly * static_cast<double>(column.present());
  };
  const bool has_comma =
      any([&](const auto& one) { return are_numbers(one) && one.forms.numbers.comma.count > 0; });
  const bool has_point =
      any([&](const auto& one) { return are_numbers(one) && one.forms.numbers.point.count > 0; });
  const bool has_groups = any([](const auto& one) {
    return one.forms.numbers.comma_groups.count > 0 ||
           (one.forms.numbers.comma.count > 0 && one.forms.numbers.point.count > 0);
  });
  marks.is_mixed = has_comma && has_groups;
  if (has_comma && !has_groups)
    marks.decimal_comma = true;
  else if (has_point && !has_comma)
    marks.decimal_comma = false;
  return marks;
}

// In a column of words, what stands in quotes is a word: R writes "NA" for Namibia, and NA for
// nothing.
void take_quoted_for_words(ColumnProfile& column) {
  if (column.words.count == 0 || column.is_amount()) return;
  for (const auto& [word, count] : column.quoted_as) {
    column.words.count += count;
    column.missing.count -= count;
    column.values.insert(word);
    if ((column.missing_as[word] -= count) == 0) column.missing_as.erase(word);
  }
}

// By the site's dictionary, from the unit of the cells to that of the schema.
void rescale(ColumnProfile& column, const TableSchema* schema) {
  if (column.scale == 1) return;
  const SchemaColumn* const wanted = schema ? schema->find(column.name) : nullptr;
  column.form.scale = column.scale;
  column.form.cell_unit = std::exchange(column.form.unit, wanted ? wanted->unit : "");
}

// Chooses the kinds of all columns. Returns whether cells are to be counted again, for some are
// numbers that were taken for words or for other numbers.
bool choose_kinds(TableProfile& profile, const TableSchema* schema) {
  bool counts_again = false;
  for (ColumnProfile& column : profile.columns) {
    for (const ColumnKind* const kind : column_kinds())
      if (auto form = kind->form_of(column, profile.marks)) {
        column.form = *std::move(form);
        break;
      }
    rescale(column, schema);
    const bool has_numbers = column.form.content() == Content::numbers;
    const NumberForms& forms = column.forms.numbers;
    counts_again =
        counts_again ||
        (has_numbers &&
         (column.words.count > 0 || column.forms.dates.compact.count > 0 || column.scale != 1 ||
          (column.form.decimal_comma && forms.point_or_groups.count > 0)));
  }
  return counts_again;
}

// Counts the cells by `kinds`, or, if there are none, by no kind.
Result<TableProfile> profile_as(const DataOptions& options, const std::string& path,
                                std::string_view text, const TableProfile* kinds) {
  TRY(CsvTable table, CsvTable::open(options, path, text));
  TableProfile profile{.path = path, .separator = table.separator(), .columns = {}, .rows = 0};
  for (std::size_t c = 0; c < table.names().size(); ++c) {
    ColumnProfile& column = profile.columns.emplace_back();
    column.name = table.names()[c];
    column.is_named = table.is_named(c);
    column.scale = table.scale(c);
    if (!kinds) continue;
    column.form = kinds->columns[c].form;
    column.forms = kinds->columns[c].forms;
  }
  std::vector<Cell> fields;
  std::vector<double> numbers;  // of a first column without a name
  while (true) {
    TRY(const bool any, table.next(fields));
    if (!any) break;
    ++profile.rows;
    if (const auto number = cell_number(fields[0].text); number && !table.is_named(0))
      numbers.push_back(*number);
    for (std::size_t c = 0; c < fields.size(); ++c)
      add_cell(profile.columns[c], fields[c], table.line(), options);
  }
  for (ColumnProfile& column : profile.columns) take_quoted_for_words(column);
  profile.columns[0].numbers_rows =
      numbers.size() == profile.rows && are_row_numbers(std::move(numbers));
  return profile;
}

}  // namespace

bool ColumnProfile::is_amount() const {
  return static_cast<double>(std::max(numbers.count, forms.numbers.amounts.count)) >=
             kMostly * static_cast<double>(present()) &&
         values.size() > kFewValues;
}

std::optional<LoneNumber> lone_number(const ColumnProfile& column) {
  // As often, and that many times as far from the others as they are from each other.
  constexpr std::size_t kOftenLeast = 3;
  constexpr double kOften = 0.005, kFar = 1;
  const auto& tallies = column.tallies;
  if (tallies.size() < 5 || tallies.size() == kTalliesLimit) return std::nullopt;
  const auto check = [&](auto lone, double nearest, double farthest) -> std::optional<LoneNumber> {
    const double gap = std::abs(lone->first - nearest), range = std::abs(farthest - nearest);
    const bool is_often =
        lone->second >= kOftenLeast &&
        static_cast<double>(lone->second) >= kOften * static_cast<double>(column.numbers.count);
    if (!is_often || gap < kFar * range || lone->first == 0) return std::nullopt;
    return LoneNumber{.value = lone->first,
                      .count = lone->second,
                      .least = std::min(nearest, farthest),
                      .most = std::max(nearest, farthest)};
  };
  const auto first = tallies.begin(), last = std::prev(tallies.end());
  if (auto found = check(last, std::prev(last)->first, first->first)) return found;
  return check(first, std::next(first)->first, last->first);
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
  table.schema_ = options.schema;
  TRY_DO(table.read_names(options.has_header));
  if (!options.dictionary_path.empty()) {
    TRY(table.dictionary_, read_dictionary(options.dictionary_path));
  }
  if (table.schema_ || !table.dictionary_.empty()) TRY_DO(table.translate_names());
  return table;
}

const DictionaryEntry* CsvTable::entry_of(const std::string& name) const {
  const auto found = dictionary_.find(name);
  return found == dictionary_.end() ? nullptr : &found->second;
}

double CsvTable::scale(std::size_t column) const {
  const DictionaryEntry* const entry = entry_of(names_[column]);
  return entry ? entry->scale : 1;
}

Result<void> CsvTable::translate_names() {
  std::vector<std::string> wanted;
  if (schema_)
    for (const SchemaColumn& column : schema_->columns) wanted.push_back(column.name);
  std::map<std::string, std::string> renamed;  // by the file's name
  for (const auto& [name, entry] : dictionary_)
    if (!entry.from.empty()) renamed[entry.from] = name;
  std::vector<std::string> names;
  std::vector<bool> is_named;
  for (std::size_t c = 0; c < names_.size(); ++c) {
    const auto other = renamed.find(names_[c]);
    const std::string& name = other == renamed.end() ? names_[c] : other->second;
    if (schema_ && std::ranges::find(wanted, name) == wanted.end()) continue;
    places_.push_back(c);
    names.push_back(name);
    is_named.push_back(is_named_[c]);
  }
  for (const std::string& name : wanted)
    if (std::ranges::count(names, name) != 1)
      return fail(
          "{}: {} {}, a column of the schema; its columns are {}. A dictionary with [{}] from = "
          "COLUMN says which it is (data.dictionary)",
          reader_.path(), std::ranges::count(names, name) == 0 ? "has no" : "has more than one",
          name, fmt::join(names_, ", "), name);
  names_ = std::move(names);
  is_named_ = std::move(is_named);
  return {};
}

void CsvTable::translate(std::vector<Cell>& fields) const {
  if (places_.empty()) return;
  std::vector<Cell> kept;
  for (std::size_t c = 0; c < places_.size(); ++c) {
    Cell& cell = kept.emplace_back(std::move(fields[places_[c]]));
    const DictionaryEntry* const entry = entry_of(names_[c]);
    if (!entry) continue;
    if (std::ranges::count(entry->missing, cell.text) > 0) cell = {};
    if (const auto word = entry->words.find(cell.text); word != entry->words.end())
      cell.text = word->second;
  }
  fields = std::move(kept);
}

Result<void> CsvTable::read_names(bool has_header) {
  TRY(const bool any, reader_.next(first_));
  if (!any) return fail("{}: empty, expected a table with a header", reader_.path());
  if (first_.size() > kTableColumnsLimit)
    return fail("{}: {} columns, expected at most {}", reader_.path(), first_.size(),
                kTableColumnsLimit);
  TRY_DO(check_text(first_));
  fields_ = first_.size();
  const auto is_value = [](const Cell& cell) { return cell_number(cell.text).has_value(); };
  if (has_header && std::ranges::any_of(first_, is_value))
    return fail(
        "{}: line {}: \"{}\" looks like data, not like the name of a column; if the file has no "
        "header, data.header = false names the columns 1 to {}",
        reader_.path(), reader_.line(), std::ranges::find_if(first_, is_value)->text,
        first_.size());
  for (std::size_t c = 0; c < first_.size(); ++c) {
    is_named_.push_back(has_header && !first_[c].text.empty());
    names_.push_back(is_named_[c] ? first_[c].text : fmt::to_string(c + 1));
  }
  holds_first_ = !has_header;
  std::set<std::string_view> seen;
  for (const std::string& name : names_)
    if (name.size() > kWordBytesLimit)
      return fail("{}: line {}: the name of column \"{}...\" has {} bytes, expected at most {}",
                  reader_.path(), reader_.line(), name.substr(0, kNameShown), name.size(),
                  kWordBytesLimit);
    else if (!seen.insert(name).second)
      return fail("{}: line {}: the header names two columns \"{}\"; rename one of them",
                  reader_.path(), reader_.line(), name.substr(0, kNameShown));
  if (names_.size() < 2)
    return fail("{}: only one column, \"{}\"; expected several between {}", reader_.path(),
                names_[0].substr(0, kNameShown), "commas, semicolons or tabs (data.separator)");
  return {};
}

// Other text could not be written into a model's file and found again.
Result<void> CsvTable::check_text(const std::vector<Cell>& fields) const {
  for (const Cell& field : fields)
    if (!is_utf8(field.text))
      return fail("{}: line {}: is not UTF-8; name its encoding, such as data.encoding = latin1",
                  reader_.path(), reader_.line());
  return {};
}

Result<bool> CsvTable::next(std::vector<Cell>& fields) {
  if (std::exchange(holds_first_, false)) {
    fields = first_;
  } else {
    TRY(const bool any, reader_.next(fields));
    if (!any) return false;
  }
  if (fields.size() != fields_)
    return fail("{}: line {}: {} fields, expected {} as in the header", reader_.path(),
                reader_.line(), fields.size(), fields_);
  TRY_DO(check_text(fields));
  translate(fields);
  if (++rows_ > kRowsLimit) return fail("{}: more than {} rows", reader_.path(), kRowsLimit);
  return true;
}

Result<TableProfile> profile_csv(const DataOptions& options, const std::string& path,
                                 std::string_view text) {
  TRY(TableProfile profile, profile_as(options, path, text, nullptr));
  const TableMarks marks = profile.marks = marks_of(profile, options);
  if (choose_kinds(profile, options.schema.get())) {
    TRY(profile, profile_as(options, path, text, &profile));
    profile.marks = marks;
  }
  for (ColumnProfile& column : profile.columns)
    if (column.name != options.target && (options.has_header || column.words.line > 1))
      take_words_for_missing(column);
  return profile;
}

}  // namespace starling::models
