#include "models/linear/kernels.h"

#include "base/every_cpu.h"

namespace starling::models {

#define MODEL_KERNELS_FOR(S)                                                                     \
  EVERY_CPU void widen(const std::uint8_t* __restrict bytes, std::size_t count, S scale,         \
                       S* __restrict out) {                                                      \
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<S>(bytes[i]) * scale;           \
  }                                                                                              \
  EVERY_CPU void add_bias(Extent extent, bool relu, const S* __restrict bias, S* __restrict z) { \
    for (std::size_t r = 0; r < extent.rows; ++r, z += extent.columns)                           \
      for (std::size_t c = 0; c < extent.columns; ++c) {                                         \
        const S value = z[c] + bias[c];                                                          \
        z[c] = !relu || value > 0 ? value : S{0};                                                \
      }                                                                                          \
  }                                                                                              \
  EVERY_CPU void mask_relu(Extent extent, const S* __restrict activation, S* __restrict delta) { \
    const std::size_t count = extent.rows * extent.columns;                                      \
    for (std::size_t i = 0; i < count; ++i) delta[i] = activation[i] > 0 ? delta[i] : S{0};      \
  }                                                                                              \
  EVERY_CPU void add_column_sums(Extent extent, const S* __restrict delta, S* __restrict sums) { \
    for (std::size_t r = 0; r < extent.rows; ++r, delta += extent.columns)                       \
      for (std::size_t c = 0; c < extent.columns; ++c) sums[c] += delta[c];                      \
  }

MODEL_KERNELS_FOR(float)
MODEL_KERNELS_FOR(double)

}  // namespace starling::models
