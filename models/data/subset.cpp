#include "models/data/subset.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace starling::models {
namespace {

using RowSpan = std::span<const std::uint32_t>;

// Of a matrix of `width` values a row; of one that is absent, nothing.
template <class T>
std::vector<T> rows_of(const std::vector<T>& values, RowSpan rows, std::size_t width = 1) {
  std::vector<T> taken;
  if (values.empty()) return taken;
  taken.reserve(rows.size() * width);
  for (const std::uint32_t row : rows) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * width);
    taken.insert(taken.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
  }
  return taken;
}

ByteFeatures take_rows(const ByteFeatures& bytes, RowSpan rows, std::size_t columns) {
  return {.values = rows_of(bytes.values, rows, columns), .scale = bytes.scale};
}

DenseFeatures take_rows(const DenseFeatures& dense, RowSpan rows, std::size_t columns) {
  return {rows_of(dense.values, rows, columns)};
}

SparseFeatures take_rows(const SparseFeatures& sparse, RowSpan rows, std::size_t) {
  SparseFeatures taken;
  taken.row_start.reserve(rows.size() + 1);
  taken.row_start.push_back(0);
  for (const std::uint32_t row : rows)
    taken.row_start.push_back(taken.row_start.back() + sparse.row_start[row + 1] -
                              sparse.row_start[row]);
  taken.column.reserve(taken.row_start.back());
  taken.value.reserve(taken.row_start.back());
  for (const std::uint32_t row : rows)
    for (std::size_t i = sparse.row_start[row]; i < sparse.row_start[row + 1]; ++i) {
      taken.column.push_back(sparse.column[i]);
      taken.value.push_back(sparse.value[i]);
    }
  return taken;
}

TableFeatures take_rows(const TableFeatures& table, RowSpan rows, std::size_t) {
  return {.columns = table.columns,
          .words = table.words,
          .number_columns = table.number_columns,
          .numbers = rows_of(table.numbers, rows, table.number_columns),
          .codes = rows_of(table.codes, rows, table.words.size()),
          .target = table.target,
          .decimal_comma = table.decimal_comma,
          .missing = table.missing,
          .missing_cells = table.missing_cells,
          .folds_case = table.folds_case,
          .target_form = table.target_form};
}

template <class T>
void append(std::vector<T>& values, const std::vector<T>& more) {
  values.insert(values.end(), more.begin(), more.end());
}

void append(ByteFeatures& bytes, const ByteFeatures& more) {
  append(bytes.values, more.values);
}

void append(DenseFeatures& dense, const DenseFeatures& more) {
  append(dense.values, more.values);
}

void append(SparseFeatures& sparse, const SparseFeatures& more) {
  const std::uint32_t taken = sparse.row_start.back();
  for (std::size_t row = 1; row < more.row_start.size(); ++row)
    sparse.row_start.push_back(taken + more.row_start[row]);
  append(sparse.column, more.column);
  append(sparse.value, more.value);
}

void append(TableFeatures& table, const TableFeatures& more) {
  append(table.numbers, more.numbers);
  append(table.codes, more.codes);
}

}  // namespace

Dataset subset(const Dataset& set, RowSpan rows) {
  Dataset taken{.features = {},
                .rows = rows.size(),
                .columns = set.columns,
                .labels = rows_of(set.labels, rows),
                .targets = rows_of(set.targets, rows),
                .classes = set.classes,
                .class_names = set.class_names,
                .image = set.image,
                .keys = rows_of(set.keys, rows)};
  std::visit([&](const auto& features) { taken.features = take_rows(features, rows, set.columns); },
             set.features);
  return taken;
}

Dataset joined(Dataset one, const Dataset& other) {
  ENSURE(are_alike(one, other), "rows that are joined mean the same");
  one.rows += other.rows;
  append(one.labels, other.labels);
  append(one.targets, other.targets);
  append(one.keys, other.keys);
  std::visit([&]<class Features>(
                 Features& features) { append(features, std::get<Features>(other.features)); },
             one.features);
  return one;
}

bool are_alike(const Dataset& one, const Dataset& other) {
  if (one.columns != other.columns || one.classes != other.classes ||
      one.class_names != other.class_names || one.image != other.image ||
      one.features.index() != other.features.index())
    return false;
  const auto* const table = std::get_if<TableFeatures>(&one.features);
  if (!table) return true;
  const auto& beside = std::get<TableFeatures>(other.features);
  return table->words == beside.words &&
         std::ranges::equal(table->columns, beside.columns, {}, &TableFeatures::Column::name,
                            &TableFeatures::Column::name);
}

}  // namespace starling::models
