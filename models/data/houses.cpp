// houses: random regression data with correlated features and noise, whose best linear model is
// known. House k has a common quality u and own z_j, all standard normal: feature
// x_j = .6 u + .8 z_j, price y = 2 + w.x + .3 e.
#include "models/data/load.h"

#include <fmt/format.h>

#include <array>

#include "base/prng.h"
#include "base/text.h"

namespace starling::models {
namespace {

// The price of one standard deviation of each feature, in 100,000.
constexpr std::array<double, 8> kWorth{0.80, -0.45, 0.30, 0.25, -0.20, 0.15, 0.10, -0.05};
constexpr double kBase = 2.0;
constexpr double kNoise = 0.3;

Dataset draw_houses(std::size_t rows, Prng prng) {
  Dataset set;
  DenseFeatures features;
  features.values.reserve(rows * kWorth.size());
  set.targets.reserve(rows);
  for (std::size_t r = 0; r < rows; ++r) {
    const double quality = prng.normal();
    double price = kBase + kNoise * prng.normal();
    for (const double worth : kWorth) {
      const double value = 0.6 * quality + 0.8 * prng.normal();
      features.values.push_back(value);
      price += worth * value;
    }
    set.targets.push_back(price);
  }
  set.features = std::move(features);
  set.rows = rows;
  set.columns = kWorth.size();
  return set;
}

}  // namespace

Data draw_houses(std::size_t samples, std::uint64_t seed) {
  Data data;
  data.train = draw_houses(samples, Prng::derive(seed, 1));
  data.test = draw_houses(samples / 5, Prng::derive(seed, 2));
  data.description =
      fmt::format("houses: {} houses of {} features, {} held out", with_commas(data.train.rows),
                  data.train.columns, with_commas(data.test.rows));
  return data;
}

}  // namespace starling::models
