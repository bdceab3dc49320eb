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

// sums[c] += sum over r of a[r, c] b[r, c]
void add_column_products(Extent extent, const float* a, const float* b, float* sums);
void add_column_products(Extent extent, const double* a, const double* b, double* sums);

// out[r, c] = factor[c] z[r, c] + shift[c]
void scale_columns(Extent extent, const float* z, const float* factor, const float* shift,
                   float* out);
void scale_columns(Extent extent, const double* z, const double* factor, const double* shift,
                   double* out);

// out[r, c] += factor[c] z[r, c]
void add_scaled_columns(Extent extent, const float* z, const float* factor, float* out);
void add_scaled_columns(Extent extent, const double* z, const double* factor, double* out);

// The squares of side x side pixels that images are cut into. Rows and columns of pixels that fill
// no square are in none.
struct Squares {
  std::size_t height = 0, width = 0, channels = 0;  // of an image; channels last
  std::size_t side = 0;

  std::size_t inputs() const { return height * width * channels; }
  std::size_t outputs() const { return (height / side) * (width / side) * channels; }
};

// largest[n, square, channel] = max of images[n, pixel, channel] over the pixels of the square.
// `row` has room for a row of pixels.
void take_largest(std::size_t rows, const Squares& squares, const float* images, float* row,
                  float* largest);
void take_largest(std::size_t rows, const Squares& squares, const double* images, double* row,
                  double* largest);

// below[n, pixel, channel] = delta[n, square, channel] where the pixel is the first of its square
// with the largest value, else 0. `delta` is overwritten.
void give_largest(std::size_t rows, const Squares& squares, const float* images,
                  const float* largest, float* delta, float* below);
void give_largest(std::size_t rows, const Squares& squares, const double* images,
                  const double* largest, double* delta, double* below);

// In double precision.
double sum_of_squares(const float* values, std::size_t count);
double sum_of_squares(const double* values, std::size_t count);

// sums[c] += sum over r of delta[r, c]
void add_column_sums(Extent extent, const float* delta, float* sums);
void add_column_sums(Extent extent, const double* delta, double* sums);

}  // namespace starling::models
