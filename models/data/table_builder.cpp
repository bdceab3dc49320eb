#include "models/data/table_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/data/cell.h"
#include "models/data/csv.h"

namespace starling::models {
namespace {

struct Sorted {
  std::vector<std::string> words;
  std::vector<std::uint32_t> place;  // by the old code
};

Sorted sorted(const std::unordered_map<std::string, std::uint32_t>& codes) {
  std::vector<std::pair<std::string, std::uint32_t>> pairs(codes.begin(), codes.end());
  std::ranges::sort(pairs);
  Sorted result;
  result.place.resize(pairs.size());
  for (auto& [word, code] : pairs) {
    result.place[code] = static_cast<std::uint32_t>(result.words.size());
    result.words.push_back(std::move(word));
  }
  return result;
}

bool is_within_limits(double number) {
  return std::abs(number) <= kTableNumberLimit;
}

}  // namespace

bool TableLayout::is_missing(const Column& column, const Cell& cell) const {
  const bool has_words = column.form.content() == Content::words;
  if (has_words && cell.is_quoted && !cell.text.empty()) return false;
  return models::is_missing(cell.text, missing_cells) ||
         (!has_words && std::ranges::binary_search(missing, cell.text));
}

bool TableLayout::is_target_missing(const Cell& cell) const {
  const bool is_word =
      classifies && cell.is_quoted && !cell.text.empty() && !target_form.has_numbers();
  return !is_word && models::is_missing(cell.text, missing_cells);
}

TableBuilder::TableBuilder(TableLayout layout) : layout_(std::move(layout)) {
  for (const TableLayout::Column& column : layout_.columns)
    for (const PartRow& part : column.form.kind->parts(column.form))
      if (part.content == Content::words) words_.emplace_back();
}

Result<std::uint32_t> TableBuilder::code_of(Codes& codes, const std::string& word,
                                            std::size_t limit) {
  const auto [entry, is_new] = codes.emplace(word, static_cast<std::uint32_t>(codes.size()));
  if (is_new && (word.size() > kWordBytesLimit || codes.size() > limit))
    return fail("expected at most {} different words of at most {} bytes", limit, kWordBytesLimit);
  return entry->second;
}

Result<void> TableBuilder::add(std::span<const Cell> cells, Dataset& set) {
  if (set.rows == 0) set.features = TableFeatures();
  auto& table = std::get<TableFeatures>(set.features);
  std::size_t slot = 0;
  for (std::size_t c = 0; c < layout_.columns.size(); ++c)
    TRY_DO(add_column(layout_.columns[c], cells[c], slot, table));
  if (!layout_.target.empty()) TRY_DO(add_target(cells[layout_.columns.size()].text, set));
  ++set.rows;
  return {};
}

Result<void> TableBuilder::add_column(const TableLayout::Column& column, const Cell& cell,
                                      std::size_t& slot, TableFeatures& table) {
  const bool missing = layout_.is_missing(column, cell);
  if (column.form.content() == Content::words) {
    const std::string word = missing              ? std::string()
                             : layout_.folds_case ? folded(cell.text)
                                                  : cell.text;
    const auto code = code_of(words_[slot++], word, kWordsLimit);
    if (!code) return fail("column {}: {}", column.name, code.error().text);
    table.codes.push_back(*code);
  } else {
    const auto number = missing ? std::optional(std::numeric_limits<double>::quiet_NaN())
                                : column.form.kind->number(cell.text, column.form);
    if (!number)
      return fail(
          "column {} holds \"{}\", expected a {} as in the rows that it was learned from; "
          "write NA where it is missing",
          column.name, cell.text.substr(0, 40),
          column.form.content() == Content::empty ? "missing cell" : column.form.kind->name());
    if (!missing && !is_within_limits(*number))
      return fail("column {} holds {}, expected numbers from -{} to {}", column.name,
                  cell.text.substr(0, 40), kTableNumberLimit, kTableNumberLimit);
    table.numbers.push_back(*number);
  }
  return add_parts(column, missing ? std::string_view() : cell.text, slot, table);
}

Result<void> TableBuilder::add_parts(const TableLayout::Column& column, std::string_view cell,
                                     std::size_t& slot, TableFeatures& table) {
  const auto parts = column.form.kind->parts(column.form).subspan(1);
  if (parts.empty()) return {};
  values_.assign(parts.size(), {});
  if (!cell.empty()) column.form.kind->fill(cell, column.form, values_);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (parts[p].content == Content::numbers) {
      table.numbers.push_back(values_[p].number);
      continue;
    }
    const auto code = code_of(words_[slot++], values_[p].word, kWordsLimit);
    if (!code) return fail("column {}: {}", column.name, code.error().text);
    table.codes.push_back(*code);
  }
  return {};
}

Result<void> TableBuilder::add_target(const std::string& cell, Dataset& set) {
  if (layout_.classifies) {
    const std::string name = class_name(cell, layout_.decimal_comma);
    const auto code = code_of(classes_, layout_.folds_case ? folded(name) : name, kClassesLimit);
    if (!code) return fail("target {}: {}", layout_.target, code.error().text);
    set.labels.push_back(static_cast<std::int32_t>(*code));
    return {};
  }
  const std::optional<double> number =
      layout_.target_form.kind ? layout_.target_form.kind->number(cell, layout_.target_form)
                               : cell_number(cell, layout_.decimal_comma);
  if (!number)
    return fail("target {} holds \"{}\", expected a finite number", layout_.target,
                cell.substr(0, 40));
  if (!is_within_limits(*number))
    return fail("target {} holds {}, expected numbers from -{} to {}", layout_.target,
                cell.substr(0, 40), kTableNumberLimit, kTableNumberLimit);
  set.targets.push_back(*number);
  return {};
}

void TableBuilder::finish(Dataset& set) const {
  if (set.rows == 0) set.features = TableFeatures();
  auto& table = std::get<TableFeatures>(set.features);
  std::vector<std::vector<std::uint32_t>> places;
  for (const Codes& codes : words_) {
    Sorted words = sorted(codes);
    table.words.push_back(std::move(words.words));
    places.push_back(std::move(words.place));
  }
  for (std::size_t i = 0; i < table.codes.size(); ++i)
    table.codes[i] = places[i % places.size()][table.codes[i]];
  std::size_t slot = 0;
  for (const auto& [name, form] : layout_.columns)
    for (const PartRow& part : form.kind->parts(form))
      table.columns.push_back(
          {.name = part_name(name, part),
           .content = part.content,
           .slot = part.content == Content::words ? slot++ : table.number_columns++,
           .of = part.suffix.empty() ? std::string() : name,
           .form = form});
  table.decimal_comma = layout_.decimal_comma;
  table.missing = layout_.missing;
  table.missing_cells = layout_.missing_cells;
  table.folds_case = layout_.folds_case;
  table.target_form = layout_.target_form;
  table.target = layout_.target;
  set.columns = layout_.columns.size();
  Sorted classes = sorted(classes_);
  for (std::int32_t& label : set.labels)
    label = static_cast<std::int32_t>(classes.place[static_cast<std::size_t>(label)]);
  set.classes = classes.words.size();
  set.class_names = std::move(classes.words);
}

}  // namespace starling::models
