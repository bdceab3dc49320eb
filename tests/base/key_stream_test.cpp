#include "base/key_stream.h"

#include <doctest/doctest.h>

#include <cstddef>

using namespace starling;

namespace {

Secret key_of(unsigned char first) {
  Secret key(KeyStream::kKeySize);
  key.bytes()[0] = std::byte{first};
  return key;
}

}  // namespace

// The first keystream bytes of ChaCha20 for a key of zeros, 76 b8 e0 ad a0 f1 3d 90 ..., little-
// endian (RFC 8439, A.1, and the test vectors of the cipher with a nonce of 64 bits).
TEST_CASE("A stream is that of the cipher") {
  KeyStream stream(key_of(0));
  CHECK(stream.next() == 0x903df1a0ade0b876);
}

TEST_CASE("A key says all numbers and another key says others") {
  KeyStream one(key_of(1)), same(key_of(1)), other(key_of(2));
  int equal = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto number = one.next();
    REQUIRE(number == same.next());
    equal += number == other.next() ? 1 : 0;
  }
  CHECK(equal == 0);
}

TEST_CASE("Uniform numbers are above zero and at most one and of mean one half") {
  KeyStream stream(key_of(3));
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double value = stream.uniform();
    REQUIRE(value > 0);
    REQUIRE(value <= 1);
    sum += value;
  }
  CHECK(sum / 100'000 == doctest::Approx(0.5).epsilon(0.01));
}
