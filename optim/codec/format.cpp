#include "optim/codec/format.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "optim/codec/half.h"

namespace starling::optim {
namespace {

static_assert(std::endian::native == std::endian::little, "parameters travel little-endian");

template <class Wire, class S>
void convert_to(std::span<const S> values, std::byte* wire) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Wire value = static_cast<Wire>(values[i]);
    std::memcpy(wire + i * sizeof(Wire), &value, sizeof(Wire));
  }
}

template <class Wire, class S>
void convert_from(const std::byte* wire, std::span<S> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    Wire value;
    std::memcpy(&value, wire + i * sizeof(Wire), sizeof(Wire));
    values[i] = static_cast<S>(value);
  }
}

constexpr Format kFormats[] = {
    {.name = "f32",
     .help = "4 bytes a number",
     .width = 4,
     .in_single = {},
     .in_double = {convert_to<float, double>, convert_from<float, double>}},
    {.name = "f64",
     .help = "8 bytes a number",
     .width = 8,
     .in_single = {convert_to<double, float>, convert_from<double, float>},
     .in_double = {}},
    {.name = "f16",
     .help =
         "2 bytes a number, three digits, up to 65504; a vector with a larger number is not mixed",
     .width = 2,
     .in_single = {encode_f16, decode_f16},
     .in_double = {encode_f16, decode_f16}},
    {.name = "bf16",
     .help = "2 bytes a number, two digits, as large as f32",
     .width = 2,
     .in_single = {encode_bf16, decode_bf16},
     .in_double = {encode_bf16, decode_bf16}},
};

}  // namespace

std::span<const Format> formats() {
  return kFormats;
}

const Format* format_named(std::string_view name) {
  const auto* const row = std::ranges::find(kFormats, name, &Format::name);
  ENSURE(row != std::end(kFormats), "a format that our code names has a row");
  return row;
}

std::size_t bytes_limit(const Format& format, std::size_t count) {
  return count * format.width;
}

bool fits(const Format& format, const Payload& payload, std::size_t count) {
  if (payload.size() != count * format.width) return false;
  return std::ranges::all_of(payload.pieces(), [&format](const Payload::Piece& piece) {
    return piece.bytes.size() % format.width == 0;
  });
}

}  // namespace starling::optim
