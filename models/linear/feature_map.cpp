#include "models/linear/feature_map.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/ids.h"
#include "models/data/columns/truth.h"
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

std::string_view plural(Content content) {
  return content == Content::words ? "words" : "numbers";
}

// Whether the cells of the table's column can stand for those of the model's.
Result<void> check_alike(const TableFeatures::Column& own, const ColumnSurvey& column,
                         const TableFeatures& table) {
  if (column.content == Content::empty || own.content == Content::empty) return {};
  if (own.content != column.content) {
    const auto is_truth = [](const std::string& word) {
      return word.empty() || truth_of(word).has_value();
    };
    // Numbers other than 1 and 0 count as no word of the model's.
    const bool is_boolean =
        column.is_boolean() &&
        (own.content == Content::numbers || std::ranges::all_of(table.words[own.slot], is_truth));
    if (is_boolean) return {};
    return fail("column {} holds {} here, and {} in the model", column.name, plural(own.content),
                plural(column.content));
  }
  if (own.content == Content::numbers && own.form.kind && column.form.kind &&
      own.form.kind != column.form.kind)
    return fail("column {} holds {}s here, and {}s in the model", column.name,
                own.form.kind->name(), column.form.kind->name());
  if (!own.form.unit.empty() && !column.form.unit.empty() && own.form.unit != column.form.unit)
    return fail("column {} is in {} here, and in {} in the model; write it in {}", column.name,
                own.form.unit, column.form.unit, column.form.unit);
  return {};
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
  const auto found = std::ranges::find(table.columns, column.name, &TableFeatures::Column::name);
  const TableFeatures::Column* const own = found == table.columns.end() ? nullptr : &*found;
  if (!own && column.of.empty())
    return fail("the model has a column {}, which this table has not", column.name);
  if (own) TRY_DO(check_alike(*own, column, table));
  if (column.content == Content::numbers)
    adopt_numbers(column, table, own);
  else if (column.content == Content::words && (column.of.empty() || column.words.size() > 1))
    adopt_words(column, hash_bits, table, own);
  return {};
}

void FeatureMap::adopt_numbers(const ColumnSurvey& column, const TableFeatures& table,
                               const TableFeatures::Column* own) {
  const double deviation = column.moments.deviation();
  const double mean = column.moments.mean, factor = deviation > 0 ? 1 / deviation : 0;
  const std::size_t place = width_++;
  if (!own) {
    constants_.push_back({.place = place, .value = -mean * factor});
  } else if (own->content != Content::words) {
    numbers_.push_back({.slot = own->slot, .place = place, .mean = mean, .factor = factor});
  } else {
    Truths& truths = truths_.emplace_back();
    truths.slot = own->slot;
    truths.place = place;
    for (const std::string& word : table.words[own->slot]) {
      const auto truth = truth_of(word);
      truths.values.push_back(truth ? ((*truth ? 1 : 0) - mean) * factor : 0);
    }
  }
}

void FeatureMap::adopt_words(const ColumnSurvey& column, unsigned hash_bits,
                             const TableFeatures& table, const TableFeatures::Column* own) {
  const auto place = [&](const std::string& word) { return place_of(column, hash_bits, word); };
  if (own && own->content == Content::words)
    std::ranges::transform(table.words[own->slot], std::back_inserter(places_[own->slot]), place);
  else if (own && own->content == Content::numbers)
    binaries_.push_back(
        {.slot = own->slot, .no = place("0"), .yes = place("1"), .missing = place("")});
  else if (const std::uint32_t missing = place(""); missing != kUnknown)
    constants_.push_back({.place = missing, .value = 1});
  width_ += hash_bits > 0 ? std::size_t{1} << hash_bits : column.words.size();
}

std::uint32_t FeatureMap::place_of(const ColumnSurvey& column, unsigned hash_bits,
                                   const std::string& word) const {
  if (hash_bits > 0)
    return static_cast<std::uint32_t>(width_ + word_hash(column.name, word, hash_bits));
  const std::optional<std::size_t> found = find_word(column.words, word);
  return found ? static_cast<std::uint32_t>(width_ + *found) : kUnknown;
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
    const std::optional<std::size_t> found = find_word(survey.classes, name);
    classes_.push_back(found ? static_cast<std::int32_t>(*found) : -1);
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
    for (const Constant& constant : constants_)
      out[constant.place] = static_cast<S>(constant.value);
    for (const Binary& binary : binaries_) {
      const double value = own[binary.slot];
      const std::uint32_t place = std::isnan(value) ? binary.missing
                                  : value == 0      ? binary.no
                                  : value == 1      ? binary.yes
                                                    : kUnknown;
      if (place != kUnknown) out[place] = S{1};
    }
    for (const Truths& truths : truths_)
      out[truths.place] = static_cast<S>(truths.values[table.codes[row * words + truths.slot]]);
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
