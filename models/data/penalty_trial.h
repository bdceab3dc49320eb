// PenaltyTrial: which strength of model.l2 suits a founder's rows, by fits that left some of them
// out. With l2 = m / rows the strength m is that of a prior, and depends little on the number of
// rows: what founders find on theirs holds for a model of all rows. Founders tell it in surveys.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace starling::models {

struct PenaltyTrial {
  using Strengths = std::array<double, 5>;
  // The strengths m that are tried. For classes the first is the default of scikit-learn, C = 1;
  // for amounts the first is nearly none, for those that follow from the columns without noise.
  static constexpr Strengths kForClasses{1, 3, 10, 30, 100}, kForAmounts{0.001, 0.1, 1, 10, 100};
  static const Strengths& strengths(bool classifies) {
    return classifies ? kForClasses : kForAmounts;
  }

  double rows = 0;  // that were left out of a fit, and judged; 0: nothing was tried
  // By strength, how much more the loss of these rows sums up to than with the best one.
  std::array<double, kForClasses.size()> excess{};

  void merge(const PenaltyTrial& other);
  // The strength of the least excess, the largest of equals; the first if nothing was tried.
  double best(const Strengths& strengths) const;
  bool operator==(const PenaltyTrial&) const = default;
};

// A founder counts for so many times the rows of the median founder, and its excess for so many
// times the median excess of that strength, at most. Larger: one that lies can choose among the
// strengths for all. Smaller: one that is right to differ counts less.
inline constexpr double kTrialSpreadsMost = 10;

// Lessens what exceeds these limits; leaves all as they are if fewer than three have tried.
void lessen_implausible(std::span<PenaltyTrial* const> of_founders);

}  // namespace starling::models
