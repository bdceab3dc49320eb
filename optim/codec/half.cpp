#include "optim/codec/half.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/every_cpu.h"

// Integer arithmetic without branches, which the compiler vectorizes for each instruction set. The
// instructions of F16C would need a second implementation for CPUs without them.

namespace starling::optim {
namespace {

constexpr std::uint32_t kSign = 0x8000'0000, kInfiniteBits = 0x7f80'0000;
constexpr std::uint32_t kExponentUnit = 1U << 23;
// The bits of an f32's fraction that an f16 lacks.
constexpr std::uint32_t kLostBits = 13;
constexpr std::uint32_t kBiasDifference = (127 - 15) * kExponentUnit;
constexpr std::uint32_t kLeastNormal = (127 - 14) * kExponentUnit;    // 2^-14
constexpr std::uint32_t kBeyondLargest = (127 + 16) * kExponentUnit;  // 2^16
// 1/2: added to a number below 2^-14, the sum holds the nearest multiple of 2^-24 in its low bits.
constexpr std::uint32_t kHalf = (127 - 1) * kExponentUnit;

[[gnu::always_inline]] inline std::uint32_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
[[gnu::always_inline]] inline float float_of(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

// Rounds to odd: a second rounding, to fewer bits, then has the result of a single one (Boldo,
// Melquiond, Emulation of FMA and correctly rounded sums, 2008).
[[gnu::always_inline]] inline std::uint32_t to_odd(double value) {
  const float nearest = static_cast<float>(value);
  const std::uint32_t bits = bits_of(nearest);
  const bool is_exact = static_cast<double>(nearest) == value;
  const bool is_above = std::abs(static_cast<double>(nearest)) > std::abs(value);
  return is_exact ? bits : (bits - (is_above ? 1U : 0U)) | 1U;
}
[[gnu::always_inline]] inline std::uint32_t to_odd(float value) {
  return bits_of(value);
}

[[gnu::always_inline]] inline std::uint16_t f16_of(std::uint32_t bits) {
  const std::uint32_t sign = bits & kSign, size = bits ^ sign;
  const std::uint32_t is_odd = size >> kLostBits & 1;
  const std::uint32_t normal = (size - kBiasDifference + 0xfff + is_odd) >> kLostBits;
  const std::uint32_t tiny = bits_of(float_of(size) + float_of(kHalf)) - kHalf;
  const std::uint32_t huge = size > kInfiniteBits ? 0x7e00 : 0x7c00;
  const std::uint32_t finite = size < kLeastNormal ? tiny : normal;
  return static_cast<std::uint16_t>((size >= kBeyondLargest ? huge : finite) | sign >> 16);
}

[[gnu::always_inline]] inline float from_f16(std::uint16_t half) {
  constexpr std::uint32_t kExponent = 0x7c00U << kLostBits;
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  const std::uint32_t size = static_cast<std::uint32_t>(half & 0x7fff) << kLostBits;
  const std::uint32_t normal = size + kBiasDifference;
  const std::uint32_t tiny = bits_of(float_of(normal + kExponentUnit) - float_of(kLeastNormal));
  const std::uint32_t huge = size | kInfiniteBits;
  const std::uint32_t exponent = size & kExponent;
  const std::uint32_t finite = exponent == 0 ? tiny : normal;
  return float_of((exponent == kExponent ? huge : finite) | sign);
}

[[gnu::always_inline]] inline std::uint16_t bf16_of(std::uint32_t bits) {
  const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  const std::uint32_t no_number = bits >> 16 | 0x40;
  return static_cast<std::uint16_t>((bits & ~kSign) > kInfiniteBits ? no_number : rounded);
}

[[gnu::always_inline]] inline float from_bf16(std::uint16_t half) {
  return float_of(static_cast<std::uint32_t>(half) << 16);
}

}  // namespace

#define HALF_FOR(S)                                                        \
  EVERY_CPU void encode_f16(std::span<const S> values, std::byte* wire) {  \
    for (std::size_t i = 0; i < values.size(); ++i) {                      \
      const std::uint16_t half = f16_of(to_odd(values[i]));                \
      std::memcpy(wire + 2 * i, &half, 2);                                 \
    }                                                                      \
  }                                                                        \
  EVERY_CPU void decode_f16(const std::byte* wire, std::span<S> values) {  \
    for (std::size_t i = 0; i < values.size(); ++i) {                      \
      std::uint16_t half;                                                  \
      std::memcpy(&half, wire + 2 * i, 2);                                 \
      values[i] = from_f16(half);                                          \
    }                                                                      \
  }                                                                        \
  EVERY_CPU void encode_bf16(std::span<const S> values, std::byte* wire) { \
    for (std::size_t i = 0; i < values.size(); ++i) {                      \
      const std::uint16_t half = bf16_of(to_odd(values[i]));               \
      std::memcpy(wire + 2 * i, &half, 2);                                 \
    }                                                                      \
  }                                                                        \
  EVERY_CPU void decode_bf16(const std::byte* wire, std::span<S> values) { \
    for (std::size_t i = 0; i < values.size(); ++i) {                      \
      std::uint16_t half;                                                  \
      std::memcpy(&half, wire + 2 * i, 2);                                 \
      values[i] = from_bf16(half);                                         \
    }                                                                      \
  }

HALF_FOR(float)
HALF_FOR(double)

}  // namespace starling::optim
