#include "optim/codec/channel.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/prng.h"
#include "optim/vector/kernels.h"

using namespace starling;
using namespace starling::optim;

namespace {

constexpr std::uint64_t kEdge = 7;
constexpr double kDensity = 0.05;
const Layout kLayout{.segments = {{300}, {10, true}, {700}}, .halves = 2};

template <class S>
struct Ends {
  explicit Ends(const Compressor& row, std::size_t parts = 1)
      : a({&row, kDensity, parts}, kLayout), b({&row, kDensity, parts}, kLayout) {}

  Channel<S> a, b;
  BufferPool pool;
};

template <class S>
std::vector<S> normal(Prng& prng) {
  std::vector<S> values(kLayout.size());
  for (S& value : values) value = static_cast<S>(prng.normal());
  return values;
}

// All pieces, one after the other.
template <class S>
std::vector<S> joined(const std::vector<typename Channel<S>::Piece>& pieces) {
  std::vector<S> all;
  for (const auto& [first, difference] : pieces)
    all.insert(all.end(), difference.begin(), difference.end());
  return all;
}

template <class S>
double norm(std::span<const S> values) {
  return std::sqrt(squared_norm(values));
}

}  // namespace

TEST_CASE_TEMPLATE("What one end gains the other loses to the last bit", S, float, double) {
  for (const Compressor& row : compressors())
    for (const std::size_t parts : {1, 3}) {
      CAPTURE(row.name);
      CAPTURE(parts);
      Ends<S> ends(row, parts);
      Prng prng(1);
      for (std::uint64_t pair = 1; pair < 30; ++pair) {
        const auto from_a = ends.a.offer(kEdge, pair, normal<S>(prng), ends.pool);
        const auto from_b = ends.b.offer(kEdge, pair, normal<S>(prng), ends.pool);
        CHECK(from_a.payload.size() == ends.a.bytes(pair));
        const auto at_a = joined<S>(ends.a.take(kEdge, pair, &from_a.payload, from_b.payload));
        const auto at_b = joined<S>(ends.b.take(kEdge, pair, &from_b.payload, from_a.payload));
        const std::size_t count = pair == 1 ? kLayout.size() : kLayout.size() / parts;
        REQUIRE(at_a.size() + 2 >= count);
        REQUIRE(at_a.size() <= count + 2);
        for (std::size_t k = 0; k < at_a.size(); ++k) REQUIRE(at_a[k] == -at_b[k]);
      }
    }
}

// However few the bits: what is not sent is sent later.
TEST_CASE_TEMPLATE("The difference of vectors at rest becomes exact", S, float, double) {
  for (const Compressor& row : compressors()) {
    CAPTURE(row.name);
    Ends<S> ends(row);
    Prng prng(2);
    auto at_a = normal<S>(prng), at_b = normal<S>(prng);
    std::vector<S> found;
    for (std::uint64_t pair = 1; pair < 400; ++pair) {
      if (pair == 2) at_a = normal<S>(prng);
      const auto from_a = ends.a.offer(kEdge, pair, at_a, ends.pool);
      const auto from_b = ends.b.offer(kEdge, pair, at_b, ends.pool);
      CHECK(from_a.step >= 0);
      CHECK(from_a.step <= 1);
      found = joined<S>(ends.a.take(kEdge, pair, &from_a.payload, from_b.payload));
      REQUIRE(!found.empty());
    }
    std::vector<S> wanted(at_a.size());
    for (std::size_t k = 0; k < wanted.size(); ++k) wanted[k] = at_b[k] - at_a[k];
    const double off =
        std::sqrt(squared_distance(std::span<const S>(found), std::span<const S>(wanted)));
    CHECK(off < 1e4 * std::numeric_limits<S>::epsilon() * norm<S>(wanted));
    CHECK(ends.a.quality() > 0);
  }
}

TEST_CASE("The size of a vector is that of every message after the first") {
  WireForm form{.format = format_named("f32"), .segments = kLayout.segments};
  CHECK(vector_bytes(form, 2) == 4 * kLayout.size());
  for (const Compressor& row : compressors()) {
    CAPTURE(row.name);
    Ends<float> ends(row);
    form.coding = {&row, kDensity};
    Prng prng(5);
    CHECK(ends.a.offer(kEdge, 1, normal<float>(prng), ends.pool).payload.size() ==
          bytes_limit(form, 2));
    for (std::uint64_t pair = 2; pair < 4; ++pair)
      CHECK(ends.a.offer(kEdge, pair, normal<float>(prng), ends.pool).payload.size() ==
            vector_bytes(form, 2));
  }
}

TEST_CASE("The quality of a channel is the mean of those that its messages tell") {
  for (const Compressor& row : compressors()) {
    CAPTURE(row.name);
    Ends<double> ends(row);
    Prng prng(6);
    CHECK(ends.a.quality() == 1);
    double last = 0, other = 0;
    for (std::uint64_t pair = 1; pair < 5; ++pair) {
      last = ends.a.offer(kEdge, pair, normal<double>(prng), ends.pool).quality;
      CHECK((pair == 1 ? last == 1 : last < 1));
    }
    other = ends.a.offer(kEdge + 1, 1, normal<double>(prng), ends.pool).quality;
    CHECK(ends.a.quality() == doctest::Approx((last + other) / 2));
  }
}

TEST_CASE("An offer that was not sent leaves no trace") {
  for (const Compressor& row : compressors()) {
    CAPTURE(row.name);
    Ends<double> ends(row);
    Prng prng(3);
    for (std::uint64_t pair = 1; pair < 10; ++pair) {
      const auto s = normal<double>(prng);
      if (prng.below(2) == 0) ends.a.offer(kEdge, pair, normal<double>(prng), ends.pool);
      const auto twice = ends.a.offer(kEdge, pair, s, ends.pool);
      const auto once = ends.b.offer(kEdge, pair, s, ends.pool);
      CHECK(twice.step == once.step);
      REQUIRE(twice.payload.size() == once.payload.size());
      std::vector<std::byte> of_a(once.payload.size()), of_b(once.payload.size());
      twice.payload.copy_to(0, of_a);
      once.payload.copy_to(0, of_b);
      CHECK(of_a == of_b);
    }
  }
}

TEST_CASE_TEMPLATE("A vector with a number that is not finite changes nothing", S, float, double) {
  for (const Compressor& row : compressors()) {
    CAPTURE(row.name);
    Ends<S> ends(row);
    Prng prng(4);
    const auto other = normal<S>(prng), own = normal<S>(prng);
    for (std::uint64_t pair = 1; pair < 6; ++pair) {
      auto s = own;
      const bool is_sick = pair % 2 == 0;
      if (is_sick) s[1711] = std::numeric_limits<S>::quiet_NaN();
      const auto from_a = ends.a.offer(kEdge, pair, s, ends.pool);
      const auto from_b = ends.b.offer(kEdge, pair, other, ends.pool);
      CHECK((from_a.step == 0) == is_sick);
      const auto found = joined<S>(ends.b.take(kEdge, pair, &from_b.payload, from_a.payload));
      REQUIRE(!found.empty());
      for (const S value : found) REQUIRE(std::isfinite(value));
    }
  }
}

TEST_CASE("After a message of the wrong size or form nothing is taken from the edge") {
  for (const Compressor& row : compressors()) {
    CAPTURE(row.name);
    Ends<double> ends(row);
    Prng prng(5);
    const auto s = normal<double>(prng);
    const auto offered = ends.a.offer(kEdge, 1, s, ends.pool);
    CHECK(joined<double>(ends.b.take(kEdge, 1, nullptr, offered.payload)).size() == s.size());
    std::vector<std::byte> bytes(ends.a.bytes(2), std::byte{0xff});  // scales that are no numbers
    CHECK(ends.b.take(kEdge, 2, nullptr, Payload::copy_of(bytes)).empty());
    CHECK(ends.b.take(kEdge, 2, nullptr, ends.a.offer(kEdge, 2, s, ends.pool).payload).empty());
    CHECK(ends.a.take(kEdge, 1, nullptr, offered.payload.slice(0, 40)).empty());
    ends.b.keep({});
    CHECK(ends.b.memory_bytes() == 0);
    CHECK(joined<double>(ends.b.take(kEdge, 1, nullptr, offered.payload)).size() == s.size());
  }
}
