// FeatureMap: from a row as it was read to the numbers a model sees. For a table these are
//   (number - mean) / deviation          of each column of numbers, then
//   1 at the row's own word, 0 elsewhere  for each column of words; a word unknown at founding: all
//   0
// and targets are scaled like numbers. For every other data set they are the row's own numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "models/dataset.h"
#include "models/survey.h"

namespace starling::models {

class FeatureMap {
 public:
  // Width 0 for a table until it is founded, the data set's columns otherwise.
  explicit FeatureMap(const Dataset& set);
  // Of a table, from all founders' surveys; each is outside data and checked.
  static Result<FeatureMap> found(const Dataset& set, std::span<const std::string> surveys);

  std::size_t width() const { return width_; }
  // What one unit of a scaled target is in units of the target.
  double target_unit() const { return target_unit_; }
  // Of everything that decides what a feature means.
  std::uint64_t fingerprint() const { return fingerprint_; }

  // Writes rows.size() x width() numbers, row-major. REQUIRES a founded map and a data set of the
  // same columns.
  template <class S>
  void gather(const Dataset& set, std::span<const std::uint32_t> rows, S* out) const;
  // Writes rows.size() targets.
  template <class S>
  void gather_targets(const Dataset& set, std::span<const std::uint32_t> rows, S* out) const;

 private:
  struct Scale {
    double mean = 0;
    double factor = 1;  // one over the deviation; 0 for a constant column
  };
  static constexpr std::uint32_t kUnknown = 0xFFFFFFFF;

  template <class S>
  void gather_table(const TableFeatures& table, std::span<const std::uint32_t> rows, S* out) const;
  void adopt(const Survey& survey, const TableFeatures& table);

  std::size_t width_ = 0;
  std::uint64_t fingerprint_ = 0;
  double target_mean_ = 0;
  double target_unit_ = 1;
  std::vector<Scale> scales_;                       // per column of numbers
  std::vector<std::vector<std::uint32_t>> places_;  // per column of words, by code: the feature
};

}  // namespace starling::models
