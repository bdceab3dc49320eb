// Moments: mean and deviation of a few numbers.
#pragma once

#include <cmath>
#include <optional>
#include <span>

namespace starling {

struct Moments {
  double mean = 0;
  double deviation = 0;  // of a sample, by n - 1; 0 of one value
};

// Nothing without values.
inline std::optional<Moments> moments(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  const auto count = static_cast<double>(values.size());
  Moments result;
  for (const double value : values) result.mean += value / count;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  if (values.size() > 1) result.deviation = std::sqrt(squares / (count - 1));
  return result;
}

}  // namespace starling
