// i8: one byte a number, levels -127 .. 127.
#include "optim/codec/block_kernels.h"
#include "optim/codec/whole_levels.h"

namespace starling::optim {
namespace i8 {
namespace {

constexpr int kLevels = 127;
constexpr std::size_t kPerByte = 1;

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
}  // namespace i8

Compressor i8_row() {
  return {.name = "i8",
          .help = "1.02 bytes a number",
          .block = levels::kBlock,
          .bytes = i8::bytes,
          .in_single = {i8::encode, i8::decode},
          .in_double = {i8::encode, i8::decode}};
}

}  // namespace starling::optim
