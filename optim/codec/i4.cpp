// i4: half a byte a number, levels -7 .. 7.
#include "optim/codec/block_kernels.h"
#include "optim/codec/whole_levels.h"

namespace starling::optim {
namespace i4 {
namespace {

constexpr int kLevels = 7;
constexpr std::size_t kPerByte = 2;

std::size_t bytes(std::size_t count, double) {
  return levels::kScaleBytes + levels::stride_of<kPerByte>(count);
}

template <class S>
[[gnu::always_inline]] inline void encode_block(std::span<const S> v, double, std::byte* wire) {
  levels::encode<kPerByte>(v, kLevels, wire);
}
template <class S>
[[gnu::always_inline]] inline bool decode_block(const std::byte* wire, double, std::span<S> q) {
  return levels::decode<kPerByte>(wire, q);
}

BLOCK_KERNELS

}  // namespace
}  // namespace i4

Compressor i4_row() {
  return {.name = "i4",
          .help = ".52 bytes a number",
          .block = levels::kBlock,
          .bytes = i4::bytes,
          .in_single = {i4::encode, i4::decode},
          .in_double = {i4::encode, i4::decode}};
}

}  // namespace starling::optim
