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

bool TableLayout::is_missing(const Column& column, const std::string& cell) const {
  return models::is_missing(cell) ||
         (column.kind == ColumnKind::numbers && std::ranges::binary_search(missing, cell));
}

TableBuilder::TableBuilder(TableLayout layout) : layout_(std::move(layout)) {
  const auto is_words = [](const auto& column) { return column.kind == ColumnKind::words; };
  words_.resize(static_cast<std::size_t>(std::ranges::count_if(layout_.columns, is_words)));
}

Result<std::uint32_t> TableBuilder::code_of(Codes& codes, const std::string& word,
                                            std::size_t limit) {
  const auto [entry, is_new] = codes.emplace(word, static_cast<std::uint32_t>(codes.size()));
  if (is_new && (word.size() > kWordBytesLimit || codes.size() > limit))
    return fail("expected at most {} different words of at most {} bytes", limit, kWordBytesLimit);
  return entry->second;
}

Result<void> TableBuilder::add(std::span<const std::string> cells, Dataset& set) {
  if (set.rows == 0) set.features = TableFeatures();
  auto& table = std::get<TableFeatures>(set.features);
  std::size_t slot = 0;
  for (std::size_t c = 0; c < layout_.columns.size(); ++c) {
    const TableLayout::Column& column = layout_.columns[c];
    const bool missing = layout_.is_missing(column, cells[c]);
    if (column.kind == ColumnKind::words) {
      const auto code = code_of(words_[slot++], missing ? std::string() : cells[c], kWordsLimit);
      if (!code) return fail("column {}: {}", column.name, code.error().text);
      table.codes.push_back(*code);
      continue;
    }
    const auto number = missing ? std::optional(std::numeric_limits<double>::quiet_NaN())
                                : cell_number(cells[c], layout_.decimal_comma);
    if (!number)
      return fail(
          "column {} holds \"{}\", expected a number as in the rows that it was learned from{}",
          column.name, cells[c].substr(0, 40),
          has_decimal_comma(cells[c]) ? "; data.decimal = comma reads it"
                                      : "; write NA where a number is missing");
    if (!missing && !is_within_limits(*number))
      return fail("column {} holds {}, expected numbers from -{} to {}", column.name,
                  cells[c].substr(0, 40), kTableNumberLimit, kTableNumberLimit);
    table.numbers.push_back(*number);
  }
  if (!layout_.target.empty()) TRY_DO(add_target(cells[layout_.columns.size()], set));
  ++set.rows;
  return {};
}

Result<void> TableBuilder::add_target(const std::string& cell, Dataset& set) {
  if (layout_.classifies) {
    const auto code = code_of(classes_, class_name(cell, layout_.decimal_comma), kClassesLimit);
    if (!code) return fail("target {}: {}", layout_.target, code.error().text);
    set.labels.push_back(static_cast<std::int32_t>(*code));
    return {};
  }
  const std::optional<double> number = cell_number(cell, layout_.decimal_comma);
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
  for (const auto& [name, kind] : layout_.columns)
    table.columns.push_back(
        {name, kind, kind == ColumnKind::words ? slot++ : table.number_columns++});
  table.decimal_comma = layout_.decimal_comma;
  table.missing = layout_.missing;
  table.target = layout_.target;
  set.columns = layout_.columns.size();
  Sorted classes = sorted(classes_);
  for (std::int32_t& label : set.labels)
    label = static_cast<std::int32_t>(classes.place[static_cast<std::size_t>(label)]);
  set.classes = classes.words.size();
  set.class_names = std::move(classes.words);
}

}  // namespace starling::models
