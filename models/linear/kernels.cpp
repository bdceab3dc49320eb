#include "models/linear/kernels.h"

#include <algorithm>

#include "base/every_cpu.h"

namespace starling::models {

// give_largest() multiplies, and takes >= for ==: which pixel is the largest is beyond prediction,
// and a branch for each channel takes three times as long.
#define MODEL_KERNELS_FOR(S)                                                                      \
  EVERY_CPU void widen(const std::uint8_t* __restrict bytes, std::size_t count, S scale,          \
                       S* __restrict out) {                                                       \
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<S>(bytes[i]) * scale;            \
  }                                                                                               \
  EVERY_CPU void add_bias(Extent extent, bool relu, const S* __restrict bias, S* __restrict z) {  \
    for (std::size_t r = 0; r < extent.rows; ++r, z += extent.columns)                            \
      for (std::size_t c = 0; c < extent.columns; ++c) {                                          \
        const S value = z[c] + bias[c];                                                           \
        z[c] = !relu || value > 0 ? value : S{0};                                                 \
      }                                                                                           \
  }                                                                                               \
  EVERY_CPU void mask_relu(Extent extent, const S* __restrict activation, S* __restrict delta) {  \
    const std::size_t count = extent.rows * extent.columns;                                       \
    for (std::size_t i = 0; i < count; ++i) delta[i] = activation[i] > 0 ? delta[i] : S{0};       \
  }                                                                                               \
  EVERY_CPU double sum_of_squares(const S* values, std::size_t count) {                           \
    double lanes[8] = {};                                                                         \
    std::size_t i = 0;                                                                            \
    for (; i + 8 <= count; i += 8)                                                                \
      for (std::size_t k = 0; k < 8; ++k)                                                         \
        lanes[k] += static_cast<double>(values[i + k]) * static_cast<double>(values[i + k]);      \
    for (std::size_t k = 0; i < count; ++i, ++k)                                                  \
      lanes[k] += static_cast<double>(values[i]) * static_cast<double>(values[i]);                \
    return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +                                      \
           ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));                                       \
  }                                                                                               \
  EVERY_CPU void add_column_sums(Extent extent, const S* __restrict delta, S* __restrict sums) {  \
    for (std::size_t r = 0; r < extent.rows; ++r, delta += extent.columns)                        \
      for (std::size_t c = 0; c < extent.columns; ++c) sums[c] += delta[c];                       \
  }                                                                                               \
  EVERY_CPU void add_column_products(Extent extent, const S* a, const S* b, S* __restrict sums) { \
    for (std::size_t r = 0; r < extent.rows; ++r, a += extent.columns, b += extent.columns)       \
      for (std::size_t c = 0; c < extent.columns; ++c) sums[c] += a[c] * b[c];                    \
  }                                                                                               \
  EVERY_CPU void scale_columns(Extent extent, const S* __restrict z, const S* __restrict factor,  \
                               const S* __restrict shift, S* __restrict out) {                    \
    for (std::size_t r = 0; r < extent.rows; ++r, z += extent.columns, out += extent.columns)     \
      for (std::size_t c = 0; c < extent.columns; ++c) out[c] = factor[c] * z[c] + shift[c];      \
  }                                                                                               \
  EVERY_CPU void add_scaled_columns(Extent extent, const S* __restrict z,                         \
                                    const S* __restrict factor, S* __restrict out) {              \
    for (std::size_t r = 0; r < extent.rows; ++r, z += extent.columns, out += extent.columns)     \
      for (std::size_t c = 0; c < extent.columns; ++c) out[c] += factor[c] * z[c];                \
  }                                                                                               \
  EVERY_CPU void take_largest(std::size_t rows, const Squares& squares,                           \
                              const S* __restrict images, S* __restrict row,                      \
                              S* __restrict largest) {                                            \
    const auto [height, width, channels, side] = squares;                                         \
    const std::size_t length = width * channels;                                                  \
    for (std::size_t n = 0; n < rows; ++n, images += squares.inputs())                            \
      for (std::size_t y = 0; y < height / side; ++y) {                                           \
        const S* pixels = images + y * side * length;                                             \
        std::copy(pixels, pixels + length, row);                                                  \
        for (std::size_t i = 1; i < side; ++i)                                                    \
          for (std::size_t k = 0; k < length; ++k)                                                \
            row[k] = pixels[i * length + k] > row[k] ? pixels[i * length + k] : row[k];           \
        for (std::size_t x = 0; x < width / side; ++x, largest += channels) {                     \
          const S* const square = row + x * side * channels;                                      \
          for (std::size_t c = 0; c < channels; ++c) largest[c] = square[c];                      \
          for (std::size_t j = 1; j < side; ++j)                                                  \
            for (std::size_t c = 0; c < channels; ++c)                                            \
              largest[c] =                                                                        \
                  square[j * channels + c] > largest[c] ? square[j * channels + c] : largest[c];  \
        }                                                                                         \
      }                                                                                           \
  }                                                                                               \
  EVERY_CPU void give_largest(std::size_t rows, const Squares& squares,                           \
                              const S* __restrict images, const S* __restrict largest,            \
                              S* __restrict delta, S* __restrict below) {                         \
    const auto [height, width, channels, side] = squares;                                         \
    const std::size_t length = width * channels, taken = width / side * channels;                 \
    if (height % side + width % side > 0) std::fill_n(below, rows* squares.inputs(), S{0});       \
    for (std::size_t n = 0; n < rows; ++n, images += squares.inputs(), below += squares.inputs()) \
      for (std::size_t y = 0; y < height / side; ++y, largest += taken, delta += taken)           \
        for (std::size_t i = 0; i < side; ++i)                                                    \
          for (std::size_t j = 0; j < side; ++j) {                                                \
            const std::size_t first = (y * side + i) * length + j * channels;                     \
            for (std::size_t x = 0; x < width / side; ++x)                                        \
              for (std::size_t c = 0; c < channels; ++c) {                                        \
                const std::size_t to = x * channels + c;                                          \
                const std::size_t from = first + x * side * channels + c;                         \
                const S given = static_cast<S>(images[from] >= largest[to]) * delta[to];          \
                below[from] = given;                                                              \
                delta[to] -= given;                                                               \
              }                                                                                   \
          }                                                                                       \
  }

MODEL_KERNELS_FOR(float)
MODEL_KERNELS_FOR(double)

}  // namespace starling::models
