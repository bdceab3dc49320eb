#include "models/linear/kernels.h"

// The product is compiled for plain x86-64, so the wider clones are chosen when it starts. A
// sanitizer is not ready yet when the loader asks which clone to take, hence none there.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define STARLING_CLONES \
  __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define STARLING_CLONES
#endif
// The loops once for both scalars; inlined into every clone, so that each compiles them anew.
#define STARLING_INLINE inline __attribute__((always_inline))

namespace starling::models {
namespace {

template <class S>
STARLING_INLINE void widen_loop(const std::uint8_t* __restrict bytes, std::size_t count, S scale,
                                S* __restrict out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<S>(bytes[i]) * scale;
}

template <class S>
STARLING_INLINE void add_bias_loop(Extent extent, const S* __restrict bias, S* __restrict z) {
  for (std::size_t r = 0; r < extent.rows; ++r, z += extent.columns)
    for (std::size_t c = 0; c < extent.columns; ++c) z[c] += bias[c];
}

template <class S>
STARLING_INLINE void add_bias_relu_loop(Extent extent, const S* __restrict bias, S* __restrict z) {
  for (std::size_t r = 0; r < extent.rows; ++r, z += extent.columns)
    for (std::size_t c = 0; c < extent.columns; ++c) {
      const S value = z[c] + bias[c];
      z[c] = value > 0 ? value : S{0};
    }
}

template <class S>
STARLING_INLINE void mask_relu_loop(Extent extent, const S* __restrict activation,
                                    S* __restrict delta) {
  const std::size_t count = extent.rows * extent.columns;
  for (std::size_t i = 0; i < count; ++i) delta[i] = activation[i] > 0 ? delta[i] : S{0};
}

template <class S>
STARLING_INLINE void add_column_sums_loop(Extent extent, const S* __restrict delta,
                                          S* __restrict sums) {
  for (std::size_t r = 0; r < extent.rows; ++r, delta += extent.columns)
    for (std::size_t c = 0; c < extent.columns; ++c) sums[c] += delta[c];
}

}  // namespace

STARLING_CLONES void widen(const std::uint8_t* bytes, std::size_t count, float scale, float* out) {
  widen_loop(bytes, count, scale, out);
}
STARLING_CLONES void widen(const std::uint8_t* bytes, std::size_t count, double scale,
                           double* out) {
  widen_loop(bytes, count, scale, out);
}

STARLING_CLONES void add_bias(Extent extent, const float* bias, float* z) {
  add_bias_loop(extent, bias, z);
}
STARLING_CLONES void add_bias(Extent extent, const double* bias, double* z) {
  add_bias_loop(extent, bias, z);
}

STARLING_CLONES void add_bias_relu(Extent extent, const float* bias, float* z) {
  add_bias_relu_loop(extent, bias, z);
}
STARLING_CLONES void add_bias_relu(Extent extent, const double* bias, double* z) {
  add_bias_relu_loop(extent, bias, z);
}

STARLING_CLONES void mask_relu(Extent extent, const float* activation, float* delta) {
  mask_relu_loop(extent, activation, delta);
}
STARLING_CLONES void mask_relu(Extent extent, const double* activation, double* delta) {
  mask_relu_loop(extent, activation, delta);
}

STARLING_CLONES void add_column_sums(Extent extent, const float* delta, float* sums) {
  add_column_sums_loop(extent, delta, sums);
}
STARLING_CLONES void add_column_sums(Extent extent, const double* delta, double* sums) {
  add_column_sums_loop(extent, delta, sums);
}

}  // namespace starling::models
