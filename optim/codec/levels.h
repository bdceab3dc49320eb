// Levels: a block of numbers v as small whole numbers z times one scale. The scale is the least
// squares fit sum v z / sum z^2, so that ||v - q|| <= ||v|| for every block. A scale from the
// largest number alone would break that for two-bit blocks with one large number.
//
// The loops have constant counts and sum in lanes, so that the compiler vectorizes them inside
// EVERY_CPU functions. Decoding only multiplies, so that no processor fuses it with an addition.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>

namespace starling::optim::levels {

inline constexpr std::size_t kBlock = 256;
inline constexpr std::size_t kLanes = 32;
inline constexpr std::size_t kScaleBytes = sizeof(float);
// The largest scale: its product with any level is finite.
inline constexpr float kScaleLimit = std::numeric_limits<float>::max() / 256;

template <class S>
using Block = std::array<S, kBlock>;

// Copies the numbers into the block, and zeros after them.
template <class S>
[[gnu::always_inline]] inline void load(std::span<const S> v, Block<S>& block) {
  std::copy(v.begin(), v.end(), block.begin());
  std::fill(block.begin() + v.size(), block.end(), S{0});
}

template <class S>
[[gnu::always_inline]] inline S largest(const Block<S>& v) {
  std::array<S, kLanes> lanes{};
  for (std::size_t start = 0; start < kBlock; start += kLanes)
    for (std::size_t k = 0; k < kLanes; ++k) {
      const S size = std::abs(v[start + k]);
      lanes[k] = size > lanes[k] ? size : lanes[k];
    }
  return *std::max_element(lanes.begin(), lanes.end());
}

// sum a b
template <class S>
[[gnu::always_inline]] inline double dot(const Block<S>& a, const Block<S>& b) {
  std::array<S, kLanes> lanes{};
  for (std::size_t start = 0; start < kBlock; start += kLanes)
    for (std::size_t k = 0; k < kLanes; ++k) lanes[k] += a[start + k] * b[start + k];
  double total = 0;
  for (const S lane : lanes) total += static_cast<double>(lane);
  return total;
}

// z = v limit / largest, rounded to the nearest whole number, ties to even. All zero if limit /
// largest is not finite.
template <class S>
[[gnu::always_inline]] inline void round_to_levels(const Block<S>& v, int limit, Block<S>& z) {
  // At this magnitude the unit in the last place is 1.
  constexpr S kOnes = static_cast<S>(3) * (S{1} / std::numeric_limits<S>::epsilon()) / 2;
  const S unit = static_cast<S>(limit) / largest(v);
  if (!std::isfinite(unit)) {
    z.fill(S{0});
    return;
  }
  for (std::size_t k = 0; k < kBlock; ++k) z[k] = (v[k] * unit + kOnes) - kOnes;
}

// The scale that fits best, for sums of v z and z^2.
[[gnu::always_inline]] inline float fitted_scale(double vz, double zz) {
  const double scale = zz > 0 ? vz / zz : 0;
  return scale > 0 ? static_cast<float>(std::min<double>(scale, kScaleLimit)) : 0.0F;
}

[[gnu::always_inline]] inline void write_scale(float scale, std::byte* wire) {
  std::memcpy(wire, &scale, kScaleBytes);
}
[[gnu::always_inline]] inline float read_scale(const std::byte* wire) {
  float scale;
  std::memcpy(&scale, wire, kScaleBytes);
  return scale;
}
inline bool is_scale(float scale) {
  return std::abs(scale) <= kScaleLimit;
}

}  // namespace starling::optim::levels
