#include "optim/codec/channel.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/prng.h"
#include "optim/vector/kernels.h"

using namespace starling;
using namespace starling::optim;

namespace {

constexpr std::uint64_t kEdge = 7;
constexpr std::size_t kHalves = 2, kSize = kHalves * 1010;

// Every form that remembers.
std::vector<WireForm> forms(std::size_t parts = 1) {
  std::vector<WireForm> forms;
  for (const std::string& name : wire_form_names()) {
    WireForm form = wire_form_named(name);
    if (!form.remembers()) continue;
    form.segments = {{300}, {10, true}, {700}};
    form.coding.parts = parts;
    forms.push_back(form);
  }
  return forms;
}

template <class S>
struct Ends {
  explicit Ends(const WireForm& form) : a(form, kHalves), b(form, kHalves) {}

  Channel<S> a, b;
  BufferPool pool;
};

template <class S>
std::vector<S> normal(Prng& prng) {
  std::vector<S> values(kSize);
  for (S& value : values) value = static_cast<S>(prng.normal());
  return values;
}

// Any, and often others at both ends; it counts where the form is chosen.
std::size_t any_shortening(Prng& prng) {
  return std::size_t{1} << prng.below(5);
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
  for (const std::size_t parts : {1, 3})
    for (const WireForm& form : forms(parts)) {
      CAPTURE(to_string(form));
      CAPTURE(parts);
      Ends<S> ends(form);
      Prng prng(1);
      for (std::uint64_t pair = 1; pair < 30; ++pair) {
        const auto from_a =
            ends.a.offer({kEdge, pair, any_shortening(prng)}, normal<S>(prng), ends.pool);
        const auto from_b =
            ends.b.offer({kEdge, pair, any_shortening(prng)}, normal<S>(prng), ends.pool);
        CHECK(from_a.payload.size() <= ends.a.bytes_limit());
        const auto at_a = joined<S>(ends.a.take(kEdge, pair, &from_a.payload, from_b.payload));
        const auto at_b = joined<S>(ends.b.take(kEdge, pair, &from_b.payload, from_a.payload));
        const std::size_t count = pair == 1 ? kSize : kSize / parts;
        REQUIRE(at_a.size() + 2 >= count);
        REQUIRE(at_a.size() <= count + 2);
        for (std::size_t k = 0; k < at_a.size(); ++k) REQUIRE(at_a[k] == -at_b[k]);
      }
    }
}

// However few the bits: what is not sent is sent later.
TEST_CASE_TEMPLATE("The difference of vectors at rest becomes exact", S, float, double) {
  for (const WireForm& form : forms()) {
    CAPTURE(to_string(form));
    Ends<S> ends(form);
    Prng prng(2);
    auto at_a = normal<S>(prng), at_b = normal<S>(prng);
    std::vector<S> found;
    for (std::uint64_t pair = 1; pair < 400; ++pair) {
      if (pair == 2) at_a = normal<S>(prng);
      const auto from_a = ends.a.offer({kEdge, pair, any_shortening(prng)}, at_a, ends.pool);
      const auto from_b = ends.b.offer({kEdge, pair, any_shortening(prng)}, at_b, ends.pool);
      CHECK(from_a.theta >= 0);
      CHECK(from_a.theta <= 1);
      found = joined<S>(ends.a.take(kEdge, pair, &from_a.payload, from_b.payload));
      REQUIRE(!found.empty());
    }
    std::vector<S> wanted(at_a.size());
    for (std::size_t k = 0; k < wanted.size(); ++k) wanted[k] = at_b[k] - at_a[k];
    const double off =
        std::sqrt(squared_distance(std::span<const S>(found), std::span<const S>(wanted)));
    CHECK(off < 1e4 * std::numeric_limits<S>::epsilon() * norm<S>(wanted));
    CHECK(ends.a.report().quality > 0);
  }
}

TEST_CASE("The size of a vector is that of every message after the first") {
  for (const WireForm& form : forms()) {
    CAPTURE(to_string(form));
    Ends<float> ends(form);
    Prng prng(5);
    CHECK(ends.a.offer({kEdge, 1}, normal<float>(prng), ends.pool).payload.size() == 4 * kSize);
    CHECK(ends.a.bytes_limit() >= 4 * kSize);
    CHECK(ends.a.bytes_limit() < 4 * kSize + kHalves * 10);
    for (std::uint64_t pair = 2; pair < 4; ++pair)
      CHECK(ends.a.offer({kEdge, pair}, normal<float>(prng), ends.pool).payload.size() ==
            ends.a.bytes(2));
  }
}

TEST_CASE("A vector without numbers has no bytes") {
  for (WireForm form : forms()) {
    CAPTURE(to_string(form));
    form.segments.clear();
    CHECK(Channel<float>(form).bytes_limit() == 0);
    CHECK(Channel<float>(form).bytes(2) == 0);
  }
}

TEST_CASE("The quality of a channel is the mean of those that its messages tell") {
  for (const WireForm& form : forms()) {
    CAPTURE(to_string(form));
    Ends<double> ends(form);
    Prng prng(6);
    CHECK(ends.a.report().quality == 1);
    double last = 0, other = 0;
    for (std::uint64_t pair = 1; pair < 5; ++pair) {
      last = ends.a.offer({kEdge, pair}, normal<double>(prng), ends.pool).quality;
      CHECK((pair == 1 || form.coding.is_chosen ? last == 1 : last < 1));
    }
    other = ends.a.offer({kEdge + 1, 1}, normal<double>(prng), ends.pool).quality;
    CHECK(ends.a.report().quality == doctest::Approx((last + other) / 2));
  }
}

TEST_CASE("An offer that was not sent leaves no trace") {
  for (const WireForm& form : forms()) {
    CAPTURE(to_string(form));
    Ends<double> ends(form);
    Prng prng(3);
    for (std::uint64_t pair = 1; pair < 10; ++pair) {
      const auto s = normal<double>(prng);
      if (prng.below(2) == 0)
        ends.a.offer({kEdge, pair, any_shortening(prng)}, normal<double>(prng), ends.pool);
      const std::size_t shortening = any_shortening(prng);
      const auto twice = ends.a.offer({kEdge, pair, shortening}, s, ends.pool);
      const auto once = ends.b.offer({kEdge, pair, shortening}, s, ends.pool);
      CHECK(twice.theta == once.theta);
      REQUIRE(twice.payload.size() == once.payload.size());
      std::vector<std::byte> of_a(once.payload.size()), of_b(once.payload.size());
      twice.payload.copy_to(0, of_a);
      once.payload.copy_to(0, of_b);
      CHECK(of_a == of_b);
    }
  }
}

TEST_CASE_TEMPLATE("A vector with a number that is not finite changes nothing", S, float, double) {
  for (const WireForm& form : forms()) {
    CAPTURE(to_string(form));
    Ends<S> ends(form);
    Prng prng(4);
    const auto other = normal<S>(prng), own = normal<S>(prng);
    for (std::uint64_t pair = 1; pair < 6; ++pair) {
      auto s = own;
      const bool is_sick = pair % 2 == 0;
      if (is_sick) s[1711] = std::numeric_limits<S>::quiet_NaN();
      const auto from_a = ends.a.offer({kEdge, pair}, s, ends.pool);
      const auto from_b = ends.b.offer({kEdge, pair}, other, ends.pool);
      CHECK((from_a.theta == 0) == is_sick);
      const auto found = joined<S>(ends.b.take(kEdge, pair, &from_b.payload, from_a.payload));
      REQUIRE(!found.empty());
      for (const S value : found) REQUIRE(std::isfinite(value));
    }
  }
}

TEST_CASE("After a message of the wrong size or form nothing is taken from the edge") {
  for (const WireForm& form : forms()) {
    CAPTURE(to_string(form));
    Ends<double> ends(form);
    Prng prng(5);
    const auto s = normal<double>(prng);
    const auto offered = ends.a.offer({kEdge, 1}, s, ends.pool);
    CHECK(joined<double>(ends.b.take(kEdge, 1, nullptr, offered.payload)).size() == s.size());
    std::vector<std::byte> bytes(ends.a.bytes(2), std::byte{0xff});  // scales that are no numbers
    CHECK(ends.b.take(kEdge, 2, nullptr, Payload::copy_of(bytes)).empty());
    CHECK(ends.b.take(kEdge, 2, nullptr, ends.a.offer({kEdge, 2}, s, ends.pool).payload).empty());
    CHECK(ends.a.take(kEdge, 1, nullptr, offered.payload.slice(0, 40)).empty());
    ends.b.keep({});
    CHECK(ends.b.report().memory_bytes == 0);
    CHECK(joined<double>(ends.b.take(kEdge, 1, nullptr, offered.payload)).size() == s.size());
  }
}
