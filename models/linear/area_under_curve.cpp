#include "models/linear/area_under_curve.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace starling::models {
namespace {

std::vector<std::size_t> ascending(const std::vector<double>& scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t row) { return scores[row]; });
  return order;
}

// Calls see(begin, end, positives) for each run of equal scores in `order`.
void for_each_tie(const std::vector<double>& scores, const std::vector<bool>& is_positive,
                  const std::vector<std::size_t>& order, auto see) {
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    double positives = 0;
    for (; end < order.size() && scores[order[end]] == scores[order[begin]]; ++end)
      positives += is_positive[order[end]] ? 1 : 0;
    see(begin, end, positives);
  }
}

}  // namespace

// Uses the ranks of the rows; equal scores share their mean rank. Mann, Whitney: On a test of
// whether one of two random variables is stochastically larger, 1947.
std::optional<RankedArea> area_under_curve(const std::vector<double>& scores,
                                           const std::vector<bool>& is_positive) {
  double ranks = 0, positives = 0;
  for_each_tie(scores, is_positive, ascending(scores),
               [&](std::size_t begin, std::size_t end, double here) {
                 ranks += here * (static_cast<double>(begin + end) + 1) / 2;
                 positives += here;
               });
  const double pairs = positives * (static_cast<double>(scores.size()) - positives);
  if (pairs == 0) return std::nullopt;
  return RankedArea{(ranks - positives * (positives + 1) / 2) / pairs, pairs};
}

std::optional<double> average_precision(const std::vector<double>& scores,
                                        const std::vector<bool>& is_positive) {
  std::vector<std::size_t> order = ascending(scores);
  std::ranges::reverse(order);
  double sum = 0, positives = 0;
  for_each_tie(scores, is_positive, order, [&](std::size_t, std::size_t end, double here) {
    positives += here;
    sum += here * positives / static_cast<double>(end);
  });
  if (positives == 0) return std::nullopt;
  return sum / positives;
}

}  // namespace starling::models
