// i4: half a byte a number, levels -7 .. 7.
#include "base/every_cpu.h"
#include "optim/codec/compressor.h"
#include "optim/codec/whole_levels.h"

namespace starling::optim {
namespace i4 {
namespace {

constexpr int kLevels = 7;
constexpr std::size_t kPerByte = 2;

std::size_t bytes(std::size_t count, double) {
  return levels::kScaleBytes + levels::stride_of<kPerByte>(count);
}

EVERY_CPU void encode(std::span<const float> v, double, std::byte* wire) {
  levels::encode<kPerByte>(v, kLevels, wire);
}
EVERY_CPU void encode(std::span<const double> v, double, std::byte* wire) {
  levels::encode<kPerByte>(v, kLevels, wire);
}
EVERY_CPU bool decode(const std::byte* wire, double, std::span<float> q) {
  return levels::decode<kPerByte>(wire, q);
}
EVERY_CPU bool decode(const std::byte* wire, double, std::span<double> q) {
  return levels::decode<kPerByte>(wire, q);
}

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
