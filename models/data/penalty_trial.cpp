#include "models/data/penalty_trial.h"

#include <algorithm>
#include <vector>

#include "models/data/plausible.h"

namespace starling::models {

void PenaltyTrial::merge(const PenaltyTrial& other) {
  rows += other.rows;
  for (std::size_t k = 0; k < excess.size(); ++k) excess[k] += other.excess[k];
}

double PenaltyTrial::best(const Strengths& strengths) const {
  if (rows == 0) return strengths.front();
  const auto last = std::ranges::min_element(excess.rbegin(), excess.rend());
  return strengths[static_cast<std::size_t>(excess.rend() - last) - 1];
}

void lessen_implausible(std::span<PenaltyTrial* const> of_founders) {
  std::vector<PenaltyTrial*> all;
  for (PenaltyTrial* one : of_founders)
    if (one->rows > 0) all.push_back(one);
  if (all.size() < 3) return;
  const auto median_of = [&](auto of) {
    std::vector<double> values;
    for (const PenaltyTrial* one : all) values.push_back(of(*one));
    return median(std::move(values));
  };
  const double rows_most =
      kTrialSpreadsMost * median_of([](const PenaltyTrial& one) { return one.rows; });
  for (std::size_t k = 0; k < PenaltyTrial::kForClasses.size(); ++k) {
    const double most = kTrialSpreadsMost * median_of([&](const PenaltyTrial& one) {
                          return one.excess[k] / one.rows;
                        });
    for (PenaltyTrial* one : all)
      one->excess[k] = std::min(one->excess[k] / one->rows, most) * std::min(one->rows, rows_most);
  }
  for (PenaltyTrial* one : all) one->rows = std::min(one->rows, rows_most);
}

}  // namespace starling::models
