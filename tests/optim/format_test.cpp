#include "optim/codec/format.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/prng.h"
#include "optim/codec/codec.h"
#include "optim/combine/mixer.h"

using namespace starling;
using namespace starling::optim;

namespace {

// What the receiver reads of one number.
template <class S>
S received(const Format& format, S value) {
  BufferPool pool;
  S read = 0;
  decode(format, encode(format, std::span<const S>(&value, 1), pool), std::span(&read, 1));
  return read;
}

double magnitude_of_half(std::uint16_t half, int precision) {
  const int fraction_bits = precision - 1, exponent_bits = 15 - fraction_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = half >> fraction_bits, fraction = half & ((1 << fraction_bits) - 1);
  if (exponent == 0) return std::ldexp(fraction, 1 - bias - fraction_bits);
  return std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

struct Half {
  const char* name;
  int precision;          // bits
  std::uint16_t largest;  // finite
};
constexpr Half kHalves[] = {{"f16", 11, 0x7bff}, {"bf16", 8, 0x7f7f}};

}  // namespace

TEST_CASE("Every number of two bytes means what its definition says") {
  for (const Half& half : kHalves)
    for (std::uint32_t bits = 0; bits <= half.largest; ++bits) {
      const auto wire = static_cast<std::uint16_t>(bits);
      const Payload payload = Payload::copy_of(std::as_bytes(std::span(&wire, 1)));
      float in_single = 0;
      double in_double = 0;
      decode(*format_named(half.name), payload, std::span(&in_single, 1));
      decode(*format_named(half.name), payload, std::span(&in_double, 1));
      REQUIRE(in_double == magnitude_of_half(wire, half.precision));
      REQUIRE(static_cast<double>(in_single) == in_double);
    }
}

TEST_CASE_TEMPLATE("A number between two of two bytes goes to the nearest and ties to even", S,
                   float, double) {
  for (const Half& half : kHalves) {
    const Format& format = *format_named(half.name);
    for (std::uint32_t bits = 0; bits < half.largest; ++bits) {
      const double low = magnitude_of_half(static_cast<std::uint16_t>(bits), half.precision);
      const double high = magnitude_of_half(static_cast<std::uint16_t>(bits + 1), half.precision);
      const S middle = static_cast<S>(low / 2 + high / 2);
      const S below = std::nextafter(middle, S{0}), above = std::nextafter(middle, S(high));
      for (const S sign : {S{1}, S{-1}}) {
        REQUIRE(received(format, sign * below) == sign * S(low));
        REQUIRE(received(format, sign * middle) == sign * S(bits % 2 == 0 ? low : high));
        REQUIRE(received(format, sign * above) == sign * S(high));
      }
    }
  }
}

TEST_CASE_TEMPLATE("What is too large for two bytes is infinite and what is no number stays so", S,
                   float, double) {
  using Limits = std::numeric_limits<S>;
  const Format &f16 = *format_named("f16"), &bf16 = *format_named("bf16");
  CHECK(received(f16, S(65504)) == S(65504));
  CHECK(received(f16, S(65519)) == S(65504));
  CHECK(received(f16, S(-65520)) == -Limits::infinity());
  CHECK(received(bf16, S(3e38)) == doctest::Approx(3e38).epsilon(.01));
  CHECK(received(bf16, Limits::max()) == Limits::infinity());
  for (const Format* const format : {&f16, &bf16}) {
    CHECK(received(*format, Limits::infinity()) == Limits::infinity());
    CHECK(std::isnan(received(*format, Limits::quiet_NaN())));
    CHECK(std::isnan(received(*format, Limits::signaling_NaN())));
    CHECK(std::signbit(received(*format, S(-1e-45))));
  }
}

TEST_CASE("A pair of which one vector is beyond the format is mixed at neither end") {
  const Format& f16 = *format_named("f16");
  BufferPool pool;
  const std::vector<float> large = {1, 7e4F}, small = {3, 4};
  SharedVector<float> x(large, std::make_shared<BufferPool>());
  SharedVector<float> y(small, std::make_shared<BufferPool>());
  const Payload of_x = encode(f16, x, pool), of_y = encode(f16, y, pool);
  const MixTerm to_x{NodeId{2}, 0.5, of_y, of_x}, to_y{NodeId{1}, 0.5, of_x, of_y};
  CHECK(mix(x, of_x, std::span(&to_x, 1), f16).rejections.size() == 1);
  CHECK(mix(y, of_y, std::span(&to_y, 1), f16).rejections.size() == 1);
  CHECK(std::vector<float>(x.values().begin(), x.values().end()) == large);
  CHECK(std::vector<float>(y.values().begin(), y.values().end()) == small);
}

TEST_CASE_TEMPLATE("Every format reads a vector in pieces as it reads it whole", S, float, double) {
  Prng prng(1);
  std::vector<S> values(5001);
  for (S& value : values) value = static_cast<S>(prng.normal());
  for (const Format& format : formats()) {
    CAPTURE(format.name);
    BufferPool pool;
    const Payload whole = encode(format, std::span<const S>(values), pool);
    CHECK(whole.size() == bytes_limit(format, values.size()));
    CHECK(fits(format, whole, values.size()));
    CHECK_FALSE(fits(format, whole, values.size() + 1));
    std::vector<S> decoded(values.size());
    decode(format, whole, std::span(decoded));
    std::vector<Payload::Piece> pieces;
    for (std::size_t at = 0; at < whole.size(); at += 24) {
      const Payload part = whole.slice(at, std::min<std::size_t>(24, whole.size() - at));
      pieces.push_back(part.pieces().front());
    }
    const Payload rope(pieces);
    CHECK(fits(format, rope, values.size()));
    VectorReader<S> reader(format, rope);
    std::vector<S> scratch(1000), seen;
    while (seen.size() < values.size()) {
      const std::size_t count = std::min(scratch.size(), values.size() - seen.size());
      const std::span<const S> next = reader.next(std::span(scratch).first(count));
      seen.insert(seen.end(), next.begin(), next.end());
    }
    CHECK(seen == decoded);
  }
}
