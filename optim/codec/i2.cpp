// i2: two bits a number. A block has four levels, -3 -1 1 3, the outer ones beyond 2/3 of the
// largest number, or three, -1 0 1, with 0 up to half of it, whichever fits better. A negative
// scale on the wire marks three levels. Byte k holds the numbers k, k + t, k + 2t and k + 3t of the
// block, t = ceil(count / 4), the first in its lowest bits.
#include "optim/codec/block_kernels.h"
#include "optim/codec/levels.h"

namespace starling::optim {
namespace i2 {
namespace {

using namespace levels;

constexpr std::size_t kPerByte = 4;
constexpr std::size_t kStride = kBlock / kPerByte;
using Codes = std::array<std::uint8_t, kBlock>;

std::size_t stride_of(std::size_t count) {
  return (count + kPerByte - 1) / kPerByte;
}
std::size_t bytes(std::size_t count, double) {
  return kScaleBytes + stride_of(count);
}

[[gnu::always_inline]] inline void pack(const Codes& codes, std::size_t stride, std::byte* wire) {
  for (std::size_t k = 0; k < stride; ++k)
    wire[k] = static_cast<std::byte>(codes[k] | codes[k + stride] << 2 |
                                     codes[k + 2 * stride] << 4 | codes[k + 3 * stride] << 6);
}

// A code stands for the level step * code + least.
template <class S>
[[gnu::always_inline]] inline void unpack(const std::byte* wire, std::size_t stride, int step,
                                          int least, S scale, S* q) {
  for (std::size_t k = 0; k < stride; ++k) {
    const int byte = std::to_integer<int>(wire[k]);
    q[k] = static_cast<S>(step * (byte & 3) + least) * scale;
    q[k + stride] = static_cast<S>(step * (byte >> 2 & 3) + least) * scale;
    q[k + 2 * stride] = static_cast<S>(step * (byte >> 4 & 3) + least) * scale;
    q[k + 3 * stride] = static_cast<S>(step * (byte >> 6) + least) * scale;
  }
}

template <class S>
[[gnu::always_inline]] inline void encode_block(std::span<const S> v, double, std::byte* wire) {
  Block<S> block, four, three;
  load(v, block);
  const S size = largest(block), outer = size * 2 / 3, inner = size / 2;
  for (std::size_t k = 0; k < kBlock; ++k) {
    const S sign = block[k] < 0 ? S{-1} : S{1};
    four[k] = std::abs(block[k]) > outer ? 3 * sign : sign;
    three[k] = std::abs(block[k]) > inner ? sign : S{0};
  }
  // A zero after the numbers has level 1 in `four`: it adds 1 to z^2 and nothing to v z.
  const double padding = static_cast<double>(kBlock - v.size());
  const double vz4 = dot(block, four), zz4 = dot(four, four) - padding;
  const double vz3 = dot(block, three), zz3 = dot(three, three);
  const bool is_four = zz3 == 0 || vz4 * vz4 * zz3 > vz3 * vz3 * zz4;
  const float scale = is_four ? fitted_scale(vz4, zz4) : fitted_scale(vz3, zz3);
  write_scale(is_four ? scale : -scale, wire);
  Codes codes{};
  for (std::size_t k = 0; k < kBlock; ++k)
    codes[k] = static_cast<std::uint8_t>(is_four ? (static_cast<int>(four[k]) + 3) / 2
                                                 : static_cast<int>(three[k]) + 1);
  std::fill(codes.begin() + v.size(), codes.end(), std::uint8_t{0});
  const std::size_t stride = stride_of(v.size());
  if (stride == kStride)
    pack(codes, kStride, wire + kScaleBytes);
  else
    pack(codes, stride, wire + kScaleBytes);
}

template <class S>
[[gnu::always_inline]] inline bool decode_block(const std::byte* wire, double, std::span<S> q) {
  const float scale = read_scale(wire);
  if (!is_scale(scale)) return false;
  const bool is_four = !std::signbit(scale);
  const int step = is_four ? 2 : 1, least = is_four ? -3 : -1;
  const S size = static_cast<S>(std::abs(scale));
  std::array<S, kBlock> block;
  const std::size_t stride = stride_of(q.size());
  if (stride == kStride)
    unpack(wire + kScaleBytes, kStride, step, least, size, block.data());
  else
    unpack(wire + kScaleBytes, stride, step, least, size, block.data());
  std::copy_n(block.begin(), q.size(), q.begin());
  return true;
}

BLOCK_KERNELS

}  // namespace
}  // namespace i2

Compressor i2_row() {
  return {.name = "i2",
          .help = ".27 bytes a number; large models learn less well",
          .block = levels::kBlock,
          .bytes = i2::bytes,
          .in_single = {i2::encode, i2::decode},
          .in_double = {i2::encode, i2::decode}};
}

}  // namespace starling::optim
