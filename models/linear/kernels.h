// Kernels: the loops of the models that are neither products nor losses. Row-major, no aliasing,
// no allocation. Compiled once for each of several instruction sets and chosen at run time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace starling::models {

struct Extent {
  std::size_t rows = 0;
  std::size_t columns = 0;
};

// out[i] = bytes[i] scale, for i below count.
void widen(const std::uint8_t* bytes, std::size_t count, float scale, float* out);
void widen(const std::uint8_t* bytes, std::size_t count, double scale, double* out);

// z[r, c] = z[r, c] + bias[c], or with relu the maximum of that and 0.
void add_bias(Extent extent, bool relu, const float* bias, float* z);
void add_bias(Extent extent, bool relu, const double* bias, double* z);

// delta[r, c] = activation[r, c] > 0 ? delta[r, c] : 0, the derivative of relu.
void mask_relu(Extent extent, const float* activation, float* delta);
void mask_relu(Extent extent, const double* activation, double* delta);

// sums[c] += sum over r of delta[r, c]
void add_column_sums(Extent extent, const float* delta, float* sums);
void add_column_sums(Extent extent, const double* delta, double* sums);

}  // namespace starling::models
