// FeatureMap: turns a row as read into the inputs of a model. For a table these are, for the
// columns in the order of the merged survey,
//   (number - mean) / deviation           of a column of numbers; 0 for a missing one
//   1 at the row's own word, 0 elsewhere  of a column of words; all 0 for a word that no founder
//   saw, and no feature of a part that has one word at all founders
// Words for true and false are one word in all spellings, and 1 and 0 are two of them where the
// model has words.
// If words are hashed, a column of words has 2^bits features, and the word is at its hash. Amounts
// to predict, or their logarithms, are scaled like numbers. For every other data set the inputs are
// the row's own numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "models/data/dataset.h"
#include "models/data/survey.h"

namespace starling::models {

class FeatureMap {
 public:
  // Width 0 for a table until it is founded, the data set's columns otherwise.
  explicit FeatureMap(const Dataset& set);
  // For the rows of `set`, a table, by the survey of a model; the error names a column that is
  // missing in the table or of another kind.
  static Result<FeatureMap> found(const Dataset& set, const Survey& survey);

  std::size_t width() const { return width_; }
  // The amount, in units of the target, for an output of a model.
  double amount(double output) const;
  // Summed over outputs and the scaled targets of the same rows, in squared units of the target.
  template <class S>
  double squared_error(std::span<const S> outputs, const S* targets) const;
  // The model's label by the table's own; -1 for a class that the model does not know. Empty if
  // they are equal.
  const std::vector<std::int32_t>& classes() const { return classes_; }
  // Hash of everything that defines the features.
  std::uint64_t fingerprint() const { return fingerprint_; }

  // Writes rows.size() x width() numbers, row-major. REQUIRES a founded map, and a data set with
  // the same words as the one it was founded for.
  template <class S>
  void gather(const Dataset& set, std::span<const std::uint32_t> rows, S* out) const;
  // Writes rows.size() targets.
  template <class S>
  void gather_targets(const Dataset& set, std::span<const std::uint32_t> rows, S* out) const;

  static constexpr std::uint32_t kUnknown = 0xFFFFFFFF;
  // The feature of each word in column `slot` of words, by its code, or kUnknown.
  const std::vector<std::uint32_t>& places(std::size_t slot) const { return places_[slot]; }

 private:
  struct Number {
    std::size_t slot = 0, place = 0;
    double mean = 0;
    double factor = 1;  // one over the deviation; 0 for a constant column
  };

  // Words for true and false of a column that has numbers in the model.
  struct Truths {
    std::size_t slot = 0, place = 0;
    std::vector<double> values;  // by the word's code
  };
  // Numbers 1 and 0 of a column that has words for them in the model.
  struct Binary {
    std::size_t slot = 0;
    std::uint32_t no = kUnknown, yes = kUnknown, missing = kUnknown;
  };
  struct Constant {
    std::size_t place = 0;
    double value = 0;
  };

  template <class S>
  void gather_table(const TableFeatures& table, std::span<const std::uint32_t> rows, S* out) const;
  Result<void> adopt(const ColumnSurvey& column, unsigned hash_bits, const TableFeatures& table);
  // `own` is null for a part that the table's column does not have.
  void adopt_numbers(const ColumnSurvey& column, const TableFeatures& table,
                     const TableFeatures::Column* own);
  void adopt_words(const ColumnSurvey& column, unsigned hash_bits, const TableFeatures& table,
                   const TableFeatures::Column* own);
  // The feature of a word, in the column that begins at feature width_.
  std::uint32_t place_of(const ColumnSurvey& column, unsigned hash_bits,
                         const std::string& word) const;
  void adopt_target(const Dataset& set, const Survey& survey);

  std::size_t width_ = 0;
  std::uint64_t fingerprint_ = 0;
  double target_mean_ = 0;
  double target_unit_ = 1;
  bool is_log_ = false;  // these are of the logarithm of the target
  std::vector<Number> numbers_;
  std::vector<std::vector<std::uint32_t>> places_;  // by slot; empty for a column left out
  std::vector<Truths> truths_;
  std::vector<Binary> binaries_;
  std::vector<Constant> constants_;  // features of words or parts that no row has
  std::vector<std::int32_t> classes_;
};

}  // namespace starling::models
