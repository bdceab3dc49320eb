// WholeLevels: a block as levels -L .. L of one byte or of half a byte. Byte k of half bytes holds
// number k in its lower half and number k + ceil(count / 2) in its upper one.
#pragma once

#include "optim/codec/levels.h"

namespace starling::optim::levels {

// `kPerByte` is 1 or 2.
template <std::size_t kPerByte>
[[gnu::always_inline]] inline std::size_t stride_of(std::size_t count) {
  return (count + kPerByte - 1) / kPerByte;
}

template <std::size_t kPerByte, class S>
[[gnu::always_inline]] inline void pack(const Block<S>& z, std::size_t stride, std::byte* wire) {
  for (std::size_t k = 0; k < stride; ++k) {
    const int low = static_cast<int>(z[k]);
    const int high = kPerByte == 2 ? static_cast<int>(z[k + stride]) : 0;
    wire[k] = static_cast<std::byte>(kPerByte == 2 ? (low & 15) | (high << 4) : low);
  }
}

template <std::size_t kPerByte, class S>
[[gnu::always_inline]] inline void unpack(const std::byte* wire, std::size_t stride, S scale,
                                          Block<S>& q) {
  for (std::size_t k = 0; k < stride; ++k) {
    const int byte = static_cast<std::int8_t>(wire[k]);
    if (kPerByte == 1) {
      q[k] = static_cast<S>(byte) * scale;
    } else {
      q[k] = static_cast<S>(((byte & 15) ^ 8) - 8) * scale;
      q[k + stride] = static_cast<S>(byte >> 4) * scale;
    }
  }
}

template <std::size_t kPerByte, class S>
[[gnu::always_inline]] inline void encode(std::span<const S> v, int limit, std::byte* wire) {
  constexpr std::size_t kStride = kBlock / kPerByte;
  Block<S> block, z;
  load(v, block);
  round_to_levels(block, limit, z);
  write_scale(fitted_scale(dot(block, z), dot(z, z)), wire);
  // A full block gets a loop of constant count, which the compiler vectorizes.
  const std::size_t stride = stride_of<kPerByte>(v.size());
  if (stride == kStride)
    pack<kPerByte>(z, kStride, wire + kScaleBytes);
  else
    pack<kPerByte>(z, stride, wire + kScaleBytes);
}

template <std::size_t kPerByte, class S>
[[gnu::always_inline]] inline bool decode(const std::byte* wire, std::span<S> q) {
  constexpr std::size_t kStride = kBlock / kPerByte;
  const float scale = read_scale(wire);
  if (!is_scale(scale)) return false;
  Block<S> block;
  const std::size_t stride = stride_of<kPerByte>(q.size());
  if (stride == kStride)
    unpack<kPerByte>(wire + kScaleBytes, kStride, static_cast<S>(scale), block);
  else
    unpack<kPerByte>(wire + kScaleBytes, stride, static_cast<S>(scale), block);
  std::copy_n(block.begin(), q.size(), q.begin());
  return true;
}

}  // namespace starling::optim::levels
