// The reference problem: language-neutral least squares with numbers known to ten digits.
//
//   U(s, k) = (sm((s << 32) | k) >> 11) 2^-53 2 - 1         uniform in [-1, 1)
//   A_i[r, c] = U(S + i, r d + c),  xc[c] = U(S + 900, c),  x_i = xc + h U(S + 500 + i, c)
//   b_i = A_i x_i + noise U(S + 700 + i, r),  F_i(x) = |A_i x - b_i|^2 / (2m)
//
// Problem i is rows i m to (i + 1) m of the data set, so F_i is half the mean squared error there.
#include "models/data/load.h"

#include <fmt/format.h>

#include "base/prng.h"

namespace starling::models {

double reference_uniform(std::uint64_t s, std::uint64_t k) {
  return static_cast<double>(mix64((s << 32) | k) >> 11) * 0x1.0p-53 * 2 - 1;
}

Data make_reference(const ReferenceOptions& o) {
  DenseFeatures features;
  features.values.reserve(o.n * o.m * o.d);
  Data data;
  for (std::size_t i = 0; i < o.n; ++i)
    for (std::size_t r = 0; r < o.m; ++r) {
      double b = o.noise * reference_uniform(o.seed + 700 + i, r);
      for (std::size_t c = 0; c < o.d; ++c) {
        const double a = reference_uniform(o.seed + i, r * o.d + c);
        const double centre = reference_uniform(o.seed + 900, c);
        b += a * (centre + o.h * reference_uniform(o.seed + 500 + i, c));
        features.values.push_back(a);
      }
      data.train.targets.push_back(b);
    }
  data.train.features = std::move(features);
  data.train.rows = o.n * o.m;
  data.train.columns = o.d;
  data.description =
      fmt::format("reference: {} least squares problems of {} rows, {} unknowns", o.n, o.m, o.d);
  return data;
}

}  // namespace starling::models
