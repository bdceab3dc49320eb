// i8: one byte a number, levels -127 .. 127.
#include "base/every_cpu.h"
#include "optim/codec/compressor.h"
#include "optim/codec/whole_levels.h"

namespace starling::optim {
namespace i8 {
namespace {

constexpr int kLevels = 127;
constexpr std::size_t kPerByte = 1;

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
