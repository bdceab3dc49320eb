#include "models/feature_map.h"

#include <algorithm>

#include "base/check.h"
#include "base/ids.h"
#include "models/csv.h"
#include "models/kernels.h"

namespace starling::models {
namespace {

// Same features, same words and same numbers to the last bit.
std::uint64_t fingerprint_of(const Survey& survey) {
  return stable_hash(encode(survey));
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

FeatureMap::FeatureMap(const Dataset& set)
    : width_(std::holds_alternative<TableFeatures>(set.features) ? 0 : set.columns) {}

Result<FeatureMap> FeatureMap::found(const Dataset& set, std::span<const std::string> surveys) {
  const auto& table = std::get<TableFeatures>(set.features);
  Survey sum = make_survey(set, {});
  for (const std::string& text : surveys) {
    TRY(const Survey survey, decode_survey(text));
    if (!survey.same_columns(sum))
      return fail("a survey is of columns {}, {}; expected {}, {}",
                  fmt::join(survey.number_names, ", "), fmt::join(survey.word_names, ", "),
                  fmt::join(sum.number_names, ", "), fmt::join(sum.word_names, ", "));
    sum.merge(survey);
    for (const auto& words : sum.words)
      if (words.size() > kWordsLimit)
        return fail("the surveys have {} words in a column, expected at most {}", words.size(),
                    kWordsLimit);
  }
  if (sum.target.count == 0) return fail("no survey has a sample to found the features on");
  FeatureMap map(set);
  map.adopt(sum, table);
  if (map.width_ == 0) return fail("no survey has a feature");
  return map;
}

void FeatureMap::adopt(const Survey& survey, const TableFeatures& table) {
  for (const Moments& moments : survey.numbers) {
    const double deviation = moments.deviation();
    scales_.push_back({.mean = moments.mean, .factor = deviation > 0 ? 1 / deviation : 0});
  }
  width_ = scales_.size();
  for (std::size_t c = 0; c < survey.words.size(); ++c) {
    const auto& words = survey.words[c];
    auto& places = places_.emplace_back();
    for (const std::string& word : table.words[c]) {
      const auto found = std::ranges::lower_bound(words, word);
      const bool known = found != words.end() && *found == word;
      places.push_back(known ? static_cast<std::uint32_t>(width_ + (found - words.begin()))
                             : kUnknown);
    }
    width_ += words.size();
  }
  target_mean_ = survey.target.mean;
  if (const double unit = survey.target.deviation(); unit > 0) target_unit_ = unit;
  fingerprint_ = fingerprint_of(survey);
}

template <class S>
void FeatureMap::gather_table(const TableFeatures& table, std::span<const std::uint32_t> rows,
                              S* out) const {
  const std::size_t words = places_.size();
  for (const std::uint32_t row : rows) {
    const double* numbers = table.numbers.data() + row * scales_.size();
    for (std::size_t c = 0; c < scales_.size(); ++c)
      out[c] = static_cast<S>((numbers[c] - scales_[c].mean) * scales_[c].factor);
    std::fill(out + scales_.size(), out + width_, S{0});
    for (std::size_t c = 0; c < words; ++c) {
      const std::uint32_t place = places_[c][table.codes[row * words + c]];
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
  for (std::size_t i = 0; i < rows.size(); ++i)
    out[i] = static_cast<S>((set.targets[rows[i]] - target_mean_) / target_unit_);
}

template void FeatureMap::gather(const Dataset&, std::span<const std::uint32_t>, float*) const;
template void FeatureMap::gather(const Dataset&, std::span<const std::uint32_t>, double*) const;
template void FeatureMap::gather_targets(const Dataset&, std::span<const std::uint32_t>,
                                         float*) const;
template void FeatureMap::gather_targets(const Dataset&, std::span<const std::uint32_t>,
                                         double*) const;

}  // namespace starling::models
