// How well scores rank the rows of one class above those of the others.
#pragma once

#include <optional>
#include <vector>

namespace starling::models {

struct RankedArea {
  double area = 0;   // how often a positive scores higher than a negative; ties count half
  double pairs = 0;  // of a positive and a negative, above 0
};

// Under the receiver operating characteristic. Nothing if one of the classes has no row. REQUIRES
// vectors of one size.
std::optional<RankedArea> area_under_curve(const std::vector<double>& scores,
                                           const std::vector<bool>& is_positive);
// Under precision by recall: the mean, over the positives, of the precision among the rows that
// score as high or higher. Nothing without a positive. REQUIRES the same.
std::optional<double> average_precision(const std::vector<double>& scores,
                                        const std::vector<bool>& is_positive);

}  // namespace starling::models
