#include "models/linear/kernels.h"

#include <algorithm>

#include "base/every_cpu.h"

namespace starling::models {

#define MODEL_KERNELS_FOR(S)                                                                   \
  EVERY_CPU_LOOPS void widen(const std::uint8_t* __restrict bytes, std::size_t count, S scale, \
                             S* __restrict out) {                                              \
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<S>(bytes[i]) * scale;         \
  }                                                                                            \
  EVERY_CPU_LOOPS void add_bias(Extent extent, bool relu, const S* __restrict bias,            \
                                S* __restrict z) {                                             \
    for (std::size_t r = 0; r < extent.rows; ++r, z += extent.columns)                         \
      for (std::size_t c = 0; c < extent.columns; ++c) {                                       \
        const S value = z[c] + bias[c];                                                        \
        z[c] = !relu || value > 0 ? value : S{0};                                              \
      }                                                                                        \
  }                                                                                            \
  EVERY_CPU_LOOPS void mask_relu(Extent extent, const S* __restrict activation,                \
                                 S* __restrict delta) {                                        \
    const std::size_t count = extent.rows * extent.columns;                                    \
    for (std::size_t i = 0; i < count; ++i) delta[i] = activation[i] > 0 ? delta[i] : S{0};    \
  }                                                                                            \
  EVERY_CPU_LOOPS void add_column_sums(Extent extent, const S* __restrict delta,               \
                                       S* __restrict sums) {                                   \
    for (std::size_t r = 0; r < extent.rows; ++r, delta += extent.columns)                     \
      for (std::size_t c = 0; c < extent.columns; ++c) sums[c] += delta[c];                    \
  }                                                                                            \
  EVERY_CPU_LOOPS void add_column_products(Extent extent, const S* a, const S* b,              \
                                           S* __restrict sums) {                               \
    for (std::size_t r = 0; r < extent.rows; ++r, a += extent.columns, b += extent.columns)    \
      for (std::size_t c = 0; c < extent.columns; ++c) sums[c] += a[c] * b[c];                 \
  }                                                                                            \
  EVERY_CPU_LOOPS void scale_columns(Extent extent, const S* __restrict z,                     \
                                     const S* __restrict factor, const S* __restrict shift,    \
                                     S* __restrict out) {                                      \
    for (std::size_t r = 0; r < extent.rows; ++r, z += extent.columns, out += extent.columns)  \
      for (std::size_t c = 0; c < extent.columns; ++c) out[c] = factor[c] * z[c] + shift[c];   \
  }                                                                                            \
  EVERY_CPU_LOOPS void add_scaled_columns(Extent extent, const S* __restrict z,                \
                                          const S* __restrict factor, S* __restrict out) {     \
    for (std::size_t r = 0; r < extent.rows; ++r, z += extent.columns, out += extent.columns)  \
      for (std::size_t c = 0; c < extent.columns; ++c) out[c] += factor[c] * z[c];             \
  }                                                                                            \
  EVERY_CPU_LOOPS void take_largest(std::size_t rows, const Squares& squares,                  \
                                    const S* __restrict images, S* __restrict largest) {       \
    const auto [height, width, channels, side] = squares;                                      \
    for (std::size_t n = 0; n < rows; ++n, images += squares.inputs())                         \
      for (std::size_t y = 0; y < height / side; ++y)                                          \
        for (std::size_t x = 0; x < width / side; ++x, largest += channels) {                  \
          const S* const corner = images + (y * side * width + x * side) * channels;           \
          std::copy(corner, corner + channels, largest);                                       \
          for (std::size_t i = 1; i < side * side; ++i) {                                      \
            const S* const pixel = corner + (i / side * width + i % side) * channels;          \
            for (std::size_t c = 0; c < channels; ++c)                                         \
              largest[c] = pixel[c] > largest[c] ? pixel[c] : largest[c];                      \
          }                                                                                    \
        }                                                                                      \
  }                                                                                            \
  EVERY_CPU_LOOPS void give_largest(std::size_t rows, const Squares& squares,                  \
                                    const S* __restrict images, const S* __restrict largest,   \
                                    S* __restrict delta, S* __restrict below) {                \
    const auto [height, width, channels, side] = squares;                                      \
    std::fill_n(below, rows* squares.inputs(), S{0});                                          \
    for (std::size_t n = 0; n < rows; ++n)                                                     \
      for (std::size_t y = 0; y < height / side; ++y)                                          \
        for (std::size_t x = 0; x < width / side; ++x, largest += channels, delta += channels) \
          for (std::size_t i = 0; i < side * side; ++i) {                                      \
            const std::size_t row = (n * height + y * side + i / side) * width;                \
            const std::size_t pixel = (row + x * side + i % side) * channels;                  \
            for (std::size_t c = 0; c < channels; ++c) {                                       \
              const bool is_first = images[pixel + c] == largest[c];                           \
              below[pixel + c] = is_first ? delta[c] : S{0};                                   \
              delta[c] = is_first ? S{0} : delta[c];                                           \
            }                                                                                  \
          }                                                                                    \
  }

MODEL_KERNELS_FOR(float)
MODEL_KERNELS_FOR(double)

}  // namespace starling::models
