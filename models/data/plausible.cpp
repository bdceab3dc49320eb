#include "models/data/plausible.h"

#include <algorithm>
#include <cmath>

namespace starling::models {
namespace {

template <class Of>
double median_of(const std::vector<Moments*>& all, Of of) {
  std::vector<double> values;
  for (const Moments* one : all) values.push_back(of(*one));
  return median(std::move(values));
}

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

void leave_out_implausible(std::span<Moments* const> of_founders) {
  std::vector<Moments*> all;
  for (Moments* one : of_founders)
    if (one->count > 0) all.push_back(one);
  if (all.size() < 3) return;
  const double centre = median_of(all, [](const Moments& one) { return one.mean; });
  const double spread =
      std::max(median_of(all, [](const Moments& one) { return one.deviation(); }),
               median_of(all, [&](const Moments& one) { return std::abs(one.mean - centre); }));
  const double rows = median_of(all, [](const Moments& one) { return one.count; });
  if (spread == 0) return;
  for (Moments* one : all) {
    const double most = kSpreadsMost * spread;
    if (!(std::abs(one->mean - centre) <= most) || !(one->deviation() <= most)) *one = {};
    if (one->count <= kRowsMost * rows) continue;
    one->squares *= kRowsMost * rows / one->count;
    one->count = kRowsMost * rows;
  }
}

}  // namespace starling::models
