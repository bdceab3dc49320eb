#include "base/prng.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

using namespace starling;

namespace {

// U(s, k) of the reference problem.
double reference_uniform(std::uint64_t s, std::uint64_t k) {
  return static_cast<double>(mix64((s << 32) | k) >> 11) * 0x1.0p-53 * 2 - 1;
}

}  // namespace

TEST_CASE("The reference problem has the numbers of its definition") {
  CHECK(reference_uniform(1000, 0) == doctest::Approx(0.7353710165340428).epsilon(1e-15));
  CHECK(reference_uniform(1000, 1) == doctest::Approx(-0.3300947783334).epsilon(1e-12));
  CHECK(reference_uniform(42, 0) == doctest::Approx(0.83129536441751).epsilon(1e-13));
}

TEST_CASE("A seed decides the numbers and a stream is another seed") {
  Prng a(7), b(7), c = Prng::derive(7, 0), d = Prng::derive(7, 1);
  CHECK(a.next() == b.next());
  CHECK(c.next() != d.next());
  CHECK(Prng::derive(7, 1).next() == Prng::derive(7, 1).next());
}

TEST_CASE("Uniform numbers fill their range evenly") {
  Prng prng(1);
  std::array<int, 10> counts{};
  for (int k = 0; k < 10000; ++k) {
    const double value = prng.uniform(-2, 3);
    REQUIRE(value >= -2);
    REQUIRE(value < 3);
    ++counts[prng.below(10)];
  }
  CHECK(*std::ranges::min_element(counts) > 850);
  CHECK(*std::ranges::max_element(counts) < 1150);
}

TEST_CASE("Normal numbers have mean 0 and variance 1") {
  Prng prng(3);
  double sum = 0, squares = 0;
  for (int k = 0; k < 10000; ++k) {
    const double value = prng.normal();
    sum += value;
    squares += value * value;
  }
  CHECK(std::abs(sum / 10000) < 0.05);
  CHECK(squares / 10000 == doctest::Approx(1).epsilon(0.05));
}

TEST_CASE("A shuffle loses nothing") {
  std::array<int, 50> items{};
  std::iota(items.begin(), items.end(), 0);
  const auto before = items;
  Prng(5).shuffle(std::span<int>(items));
  CHECK(items != before);
  std::ranges::sort(items);
  CHECK(items == before);
}
