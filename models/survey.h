// Survey: the statistics of a table's samples, which the founders exchange so that all of them
// scale features alike without anyone seeing another's samples.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "models/dataset.h"

namespace starling::models {

// Count, mean and sum of squared deviations from the mean of some numbers. Unlike plain sums of
// squares they stay exact to rounding however far the numbers lie from 0.
struct Moments {
  double count = 0;
  double mean = 0;
  double squares = 0;

  void add(double value);
  // Chan, Golub, LeVeque: Updating formulae and a pairwise algorithm, 1979.
  void merge(const Moments& other);
  // Population standard deviation; 0 for a constant or for nothing.
  double deviation() const;
};

struct Survey {
  std::vector<std::string> number_names;
  std::vector<std::string> word_names;
  std::vector<Moments> numbers;                 // per column of numbers
  std::vector<std::vector<std::string>> words;  // per column of words those seen, ascending
  Moments target;

  // REQUIRES the same names; see same_columns().
  void merge(const Survey& other);
  bool same_columns(const Survey& other) const;
};

inline constexpr std::size_t kSurveyBytesLimit = std::size_t{16} << 20;

// Of those rows of a data set with TableFeatures.
Survey make_survey(const Dataset& set, std::span<const std::uint32_t> rows);

// A text of netstrings, LENGTH:BYTES one after the other, with numbers in decimal that read back
// exactly. decode() takes outside data: what is not a survey, or too large, is an error.
std::string encode(const Survey& survey);
Result<Survey> decode_survey(std::string_view text);

}  // namespace starling::models
