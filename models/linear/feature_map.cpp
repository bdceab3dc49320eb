#include "models/linear/feature_map.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/ids.h"
#include "models/linear/kernels.h"

namespace starling::models {
namespace {

// The feature of a hashed word within its column: the same on every node, and in the page that
// predicts without this program.
std::size_t word_hash(const std::string& column, const std::string& word, unsigned bits) {
  return stable_hash(column + '\0' + word) & ((std::uint64_t{1} << bits) - 1);
}

template <class S>
void gather_dense(const DenseFeatures& dense, std::size_t columns,
                  std::span<const std::uint32_t> rows, S* out) {
  for (const std::uint32_t row : rows)
    out = std::transform(dense.values.data() + row * columns,
                         dense.values.data() + (row + std::size_t{1}) * columns, out,
                         [](double value) { return static_cast<S>(value); });
}

template <class S>
void gather_bytes(const ByteFeatures& bytes, std::size_t columns,
                  std::span<const std::uint32_t> rows, S* out) {
  for (const std::uint32_t row : rows) {
    widen(bytes.values.data() + row * columns, columns, static_cast<S>(bytes.scale), out);
    out += columns;
  }
}

template <class S>
void gather_sparse(const SparseFeatures& sparse, std::size_t columns,
                   std::span<const std::uint32_t> rows, S* out) {
  std::fill_n(out, rows.size() * columns, S{0});
  for (const std::uint32_t row : rows) {
    for (std::size_t i = sparse.row_start[row]; i < sparse.row_start[row + 1]; ++i)
      out[sparse.column[i]] = static_cast<S>(sparse.value[i]);
    out += columns;
  }
}

}  // namespace

FeatureMap::FeatureMap(const Dataset& set) : width_(set.is_table() ? 0 : set.columns) {}

Result<FeatureMap> FeatureMap::found(const Dataset& set, const Survey& survey) {
  const auto& table = std::get<TableFeatures>(set.features);
  FeatureMap map(set);
  map.places_.resize(table.words.size());
  for (const ColumnSurvey& column : survey.columns)
    TRY_DO(map.adopt(column, survey.hash_bits, table));
  if (map.width_ == 0) return fail("no survey has a feature");
  map.adopt_target(set, survey);
  map.fingerprint_ = stable_hash(encode(survey));  // of words, and of numbers to the last bit
  return map;
}

Result<void> FeatureMap::adopt(const ColumnSurvey& column, unsigned hash_bits,
                               const TableFeatures& table) {
  const auto own = std::ranges::find(table.columns, column.name, &TableFeatures::Column::name);
  if (own == table.columns.end())
    return fail("the model has a column {}, which this table has not", column.name);
  const bool is_words = own->kind == ColumnKind::words;
  if (column.kind != ColumnKind::empty && own->kind != ColumnKind::empty &&
      is_words != (column.kind == ColumnKind::words))
    return fail("column {} holds {} here, and {} in the model", column.name,
                is_words ? "words" : "numbers", is_words ? "numbers" : "words");
  if (column.kind == ColumnKind::numbers) {
    const double deviation = column.moments.deviation();
    numbers_.push_back({.slot = own->slot,
                        .place = width_++,
                        .mean = column.moments.mean,
                        .factor = deviation > 0 ? 1 / deviation : 0});
  } else if (column.kind == ColumnKind::words) {
    if (is_words)
      for (const std::string& word : table.words[own->slot])
        places_[own->slot].push_back(place_of(column, hash_bits, word));
    else if (const std::uint32_t place = place_of(column, hash_bits, ""); place != kUnknown)
      always_.push_back(place);
    width_ += hash_bits > 0 ? std::size_t{1} << hash_bits : column.words.size();
  }
  return {};
}

std::uint32_t FeatureMap::place_of(const ColumnSurvey& column, unsigned hash_bits,
                                   const std::string& word) const {
  if (hash_bits > 0)
    return static_cast<std::uint32_t>(width_ + word_hash(column.name, word, hash_bits));
  const auto found = std::ranges::lower_bound(column.words, word);
  if (found == column.words.end() || *found != word) return kUnknown;
  return static_cast<std::uint32_t>(width_ +
                                    static_cast<std::size_t>(found - column.words.begin()));
}

void FeatureMap::adopt_target(const Dataset& set, const Survey& survey) {
  if (!survey.classifies) {
    is_log_ = survey.is_log;
    target_mean_ = survey.amounts.mean;
    const double deviation = survey.amounts.deviation();
    target_unit_ = deviation > 0 ? deviation : 1;
    return;
  }
  for (const std::string& name : set.class_names) {
    const auto found = std::ranges::lower_bound(survey.classes, name);
    const bool known = found != survey.classes.end() && *found == name;
    classes_.push_back(known ? static_cast<std::int32_t>(found - survey.classes.begin()) : -1);
  }
}

template <class S>
void FeatureMap::gather_table(const TableFeatures& table, std::span<const std::uint32_t> rows,
                              S* out) const {
  const std::size_t words = places_.size();
  for (const std::uint32_t row : rows) {
    std::fill_n(out, width_, S{0});
    const double* const own = table.numbers.data() + row * table.number_columns;
    for (const Number& number : numbers_)
      if (!std::isnan(own[number.slot]))
        out[number.place] = static_cast<S>((own[number.slot] - number.mean) * number.factor);
    for (const std::size_t place : always_) out[place] = S{1};
    for (std::size_t slot = 0; slot < words; ++slot) {
      if (places_[slot].empty()) continue;
      const std::uint32_t place = places_[slot][table.codes[row * words + slot]];
      if (place != kUnknown) out[place] = S{1};
    }
    out += width_;
  }
}

template <class S>
void FeatureMap::gather(const Dataset& set, std::span<const std::uint32_t> rows, S* out) const {
  ENSURE(width_ > 0, "features exist once they are founded");
  if (const auto* bytes = std::get_if<ByteFeatures>(&set.features))
    gather_bytes(*bytes, width_, rows, out);
  else if (const auto* dense = std::get_if<DenseFeatures>(&set.features))
    gather_dense(*dense, width_, rows, out);
  else if (const auto* sparse = std::get_if<SparseFeatures>(&set.features))
    gather_sparse(*sparse, width_, rows, out);
  else
    gather_table(std::get<TableFeatures>(set.features), rows, out);
}

template <class S>
void FeatureMap::gather_targets(const Dataset& set, std::span<const std::uint32_t> rows,
                                S* out) const {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double target = set.targets[rows[i]];
    out[i] = static_cast<S>(((is_log_ ? std::log(target) : target) - target_mean_) / target_unit_);
  }
}

double FeatureMap::amount(double output) const {
  const double scaled = target_mean_ + target_unit_ * output;
  return is_log_ ? std::exp(scaled) : scaled;
}

template <class S>
double FeatureMap::squared_error(std::span<const S> outputs, const S* targets) const {
  double sum = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto output = static_cast<double>(outputs[i]), target = static_cast<double>(targets[i]);
    const double error =
        is_log_ ? amount(output) - amount(target) : target_unit_ * (output - target);
    sum += error * error;
  }
  return sum;
}

template double FeatureMap::squared_error(std::span<const float>, const float*) const;
template double FeatureMap::squared_error(std::span<const double>, const double*) const;
template void FeatureMap::gather(const Dataset&, std::span<const std::uint32_t>, float*) const;
template void FeatureMap::gather(const Dataset&, std::span<const std::uint32_t>, double*) const;
template void FeatureMap::gather_targets(const Dataset&, std::span<const std::uint32_t>,
                                         float*) const;
template void FeatureMap::gather_targets(const Dataset&, std::span<const std::uint32_t>,
                                         double*) const;

}  // namespace starling::models
