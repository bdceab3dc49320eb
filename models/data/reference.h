// The reference problem: language-neutral least squares with numbers known to ten digits.
//
//   U(s, k) = (sm((s << 32) | k) >> 11) 2^-53 2 - 1         uniform in [-1, 1)
//   A_i[r, c] = U(S + i, r d + c),  xc[c] = U(S + 900, c),  x_i = xc + h U(S + 500 + i, c)
//   b_i = A_i x_i + noise U(S + 700 + i, r),  F_i(x) = |A_i x - b_i|^2 / (2m)
//
// Problem i is rows i m to (i + 1) m of the data set, so F_i is half the mean squared error there.
#pragma once

#include <cstdint>

#include "models/data/data_options.h"
#include "models/data/dataset.h"

namespace starling::models {

// U(s, k); arithmetic wraps, k < 2^32.
double reference_uniform(std::uint64_t s, std::uint64_t k);

Data make_reference(const ReferenceOptions& options);

}  // namespace starling::models
