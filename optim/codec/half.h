// Numbers of two bytes, rounded to the nearest, ties to even:
//   f16   IEEE 754 binary16: 11 bits of precision, at most 65504, steps of 6e-8 around zero
//   bf16  the upper half of an f32: 8 bits of precision, the range of f32
// Numbers beyond the range become infinite; NaN stays NaN. Encoding rounds once, also from double;
// decoding is exact. `wire` may be misaligned.
#pragma once

#include <cstddef>
#include <span>

namespace starling::optim {

void encode_f16(std::span<const float> values, std::byte* wire);
void encode_f16(std::span<const double> values, std::byte* wire);
void decode_f16(const std::byte* wire, std::span<float> values);
void decode_f16(const std::byte* wire, std::span<double> values);

void encode_bf16(std::span<const float> values, std::byte* wire);
void encode_bf16(std::span<const double> values, std::byte* wire);
void decode_bf16(const std::byte* wire, std::span<float> values);
void decode_bf16(const std::byte* wire, std::span<double> values);

}  // namespace starling::optim
