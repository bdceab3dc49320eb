// Format: how the numbers of a vector look on the wire, little-endian. All numbers of a format have
// the same width, so that sizes and offsets follow from it. To add a format of numbers: a row in
// optim/codec/format.cpp, and two kernels for each of float and double.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/payload.h"
#include "optim/codec/kernels_of.h"

namespace starling::optim {

template <class S>
struct FormatKernels {
  // Convert values.size() numbers of S to and from `wire`, which may be misaligned. Both null if
  // the format is S as in memory.
  void (*encode)(std::span<const S> values, std::byte* wire) = nullptr;
  void (*decode)(const std::byte* wire, std::span<S> values) = nullptr;

  bool is_native() const { return encode == nullptr; }
};

struct Format {
  std::string_view name;  // in settings
  std::string_view help;  // what it costs and what it cannot show
  std::size_t width;      // bytes of a number
  FormatKernels<float> in_single;
  FormatKernels<double> in_double;
};

// In the order of display. Rows are static; compare them by address.
std::span<const Format> formats();
// REQUIRES a name of the table: it comes from the code, not from a user.
const Format* format_named(std::string_view name);

// The most bytes of a vector of `count` numbers.
std::size_t bytes_limit(const Format& format, std::size_t count);
// Whether the payload is a vector of `count` numbers whose pieces hold whole numbers.
bool fits(const Format& format, const Payload& payload, std::size_t count);

}  // namespace starling::optim
