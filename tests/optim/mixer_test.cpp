#include "optim/combine/mixer.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/prng.h"
#include "optim/vector/kernels.h"

using namespace starling;
using namespace starling::optim;

namespace {

template <class S>
std::vector<S> random_vector(std::size_t size, std::uint64_t seed) {
  Prng prng(seed);
  std::vector<S> values(size);
  for (S& value : values) value = static_cast<S>(prng.normal());
  return values;
}

template <class S>
Payload encoded(const std::vector<S>& values, const Format& codec) {
  static BufferPool pool;
  return encode<S>(codec, values, pool);
}

template <class S>
SharedVector<S> shared(const std::vector<S>& values) {
  return {values, std::make_shared<BufferPool>()};
}

template <class S>
std::vector<S> copy_of(const SharedVector<S>& x) {
  return {x.values().begin(), x.values().end()};
}

// The same bytes in pieces of `piece` bytes that lie misaligned in memory.
Payload in_pieces(const Payload& whole, std::size_t piece) {
  std::vector<Payload::Piece> pieces;
  for (std::size_t offset = 0; offset < whole.size(); offset += piece) {
    const std::size_t length = std::min(piece, whole.size() - offset);
    auto owner = std::make_shared<std::vector<std::byte>>(length + 1);
    const std::span<std::byte> bytes = std::span(*owner).subspan(1);
    whole.copy_to(offset, bytes);
    pieces.push_back({owner, bytes});
  }
  return Payload(std::move(pieces));
}

}  // namespace

TEST_CASE_TEMPLATE("Mixing moves towards the neighbours by the weights", S, float, double) {
  const Format& codec = *format_named(sizeof(S) == 4 ? "f32" : "f64");
  const std::size_t size = 10'001;
  const auto own = random_vector<S>(size, 1), a = random_vector<S>(size, 2),
             b = random_vector<S>(size, 3);
  SharedVector<S> x = shared(own);
  const Payload sent = encoded(own, codec);
  const std::vector<MixTerm> terms = {{NodeId{7}, 0.25, in_pieces(encoded(a, codec), 4096), sent},
                                      {NodeId{8}, 0.5, encoded(b, codec), sent}};
  const MixResult result = mix(x, sent, terms, codec);
  REQUIRE(result.distances.size() == 2);
  CHECK(result.rejections.empty());
  double worst = 0, squared = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const double expected = 0.25 * static_cast<double>(own[i]) + 0.25 * static_cast<double>(a[i]) +
                            0.5 * static_cast<double>(b[i]);
    worst = std::max(worst, std::abs(static_cast<double>(x.values()[i]) - expected));
    squared += std::pow(static_cast<double>(a[i]) - static_cast<double>(own[i]), 2);
  }
  CHECK(worst < (sizeof(S) == 4 ? 1e-6 : 1e-14));
  CHECK(result.distances[0].distance == doctest::Approx(std::sqrt(squared)).epsilon(1e-5));
}

TEST_CASE("What was sent stays as it is while the vector goes on") {
  // Of all counts of neighbours around the most that are mixed at once, and sizes around those that
  // are stored past the caches.
  for (const std::size_t size : {std::size_t{1}, std::size_t{1023}, std::size_t{1'200'003}})
    for (const std::size_t degree : {1, 3, 4, 5, 9}) {
      CAPTURE(size);
      CAPTURE(degree);
      const auto own = random_vector<float>(size, 1), theirs = random_vector<float>(size, 2);
      SharedVector<float> x = shared(own), copied = shared(own);
      const Payload sent = x.share();
      CHECK(x.is_shown_by(sent));
      const double weight = 0.5 / static_cast<double>(degree);
      const Format& f32 = *format_named("f32");
      const Payload copy = encoded(own, f32);
      mix(x, sent, std::vector<MixTerm>(degree, {NodeId{2}, weight, encoded(theirs, f32), sent}),
          f32);
      mix(copied, copy,
          std::vector<MixTerm>(degree, {NodeId{2}, weight, encoded(theirs, f32), copy}), f32);
      CHECK(copy_of(x) == copy_of(copied));
      double worst = 0;
      for (std::size_t i = 0; i < size; ++i)
        worst = std::max(worst, std::abs(x.values()[i] - 0.5 * (own[i] + theirs[i])));
      CHECK(worst < 1e-5);
      std::vector<float> seen(size);
      decode<float>(*format_named("f32"), sent, seen);
      CHECK(seen == own);
      x.edit()[0] = 7;
      CHECK_FALSE(x.is_shown_by(sent));
    }
}

TEST_CASE("A shared vector is copied before it is edited") {
  const auto own = random_vector<float>(100, 1);
  SharedVector<float> x = shared(own);
  const Payload sent = x.share();
  x.edit()[3] = 42;
  std::vector<float> seen(own.size());
  decode<float>(*format_named("f32"), sent, seen);
  CHECK(seen == own);
  CHECK(x.values()[3] == 42);
  const float* place = x.values().data();
  x.edit()[3] = 43;
  CHECK(x.values().data() == place);
}

TEST_CASE_TEMPLATE("A late pair is mixed by what both were", S, float, double) {
  const Format& codec = *format_named(sizeof(S) == 4 ? "f32" : "f64");
  const std::size_t size = 5001;
  const auto now = random_vector<S>(size, 1), before = random_vector<S>(size, 2),
             theirs = random_vector<S>(size, 3), late = random_vector<S>(size, 4);
  SharedVector<S> x = shared(now);
  const Payload sent = encoded(now, codec);
  const std::vector<MixTerm> terms = {
      {NodeId{2}, 0.4, encoded(theirs, codec), sent},
      {NodeId{2}, 0.3, encoded(late, codec), encoded(before, codec)}};
  CHECK(mix(x, sent, terms, codec).distances.size() == 2);
  double worst = 0;
  for (std::size_t i = 0; i < size; ++i)
    worst = std::max(worst, std::abs(static_cast<double>(x.values()[i] -
                                                         (now[i] + S(0.4) * (theirs[i] - now[i]) +
                                                          S(0.3) * (late[i] - before[i])))));
  CHECK(worst < (sizeof(S) == 4 ? 1e-6 : 1e-14));
}

TEST_CASE("What was sent last is the same own vector at its address and at another") {
  const Format& f32 = *format_named("f32");
  const auto own = random_vector<float>(5001, 1), theirs = random_vector<float>(5001, 2);
  SharedVector<float> x = shared(own), y = shared(own);
  const Payload sent = x.share(), other = y.share();
  const MixTerm here{NodeId{2}, 0.3, encoded(theirs, f32), sent};
  const MixTerm elsewhere{NodeId{2}, 0.3, encoded(theirs, f32), encoded(own, f32)};
  CHECK(mix(x, sent, std::span(&here, 1), f32).mixed.size() == 1);
  CHECK(mix(y, other, std::span(&elsewhere, 1), f32).mixed.size() == 1);
  CHECK(copy_of(x) == copy_of(y));
  CHECK(copy_of(x) != own);
}

TEST_CASE("A term without a vector of its own is refused") {
  const Format& f32 = *format_named("f32");
  const auto own = random_vector<float>(10, 1), theirs = random_vector<float>(10, 2);
  SharedVector<float> x = shared(own);
  const MixTerm term{NodeId{2}, 0.3, encoded(theirs, f32)};
  CHECK(mix(x, x.share(), std::span(&term, 1), f32).rejections.size() == 1);
  CHECK(copy_of(x) == own);
}

TEST_CASE("A vector with a number that is not finite leaves its weight with self") {
  const std::size_t size = 9000;
  const auto own = random_vector<float>(size, 1), good = random_vector<float>(size, 2);
  for (const float poison :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 3e38F}) {
    auto bad = random_vector<float>(size, 3);
    bad[8999] = poison;
    SharedVector<float> x = shared(own), expected = shared(own);
    const Format& f32 = *format_named("f32");
    const Payload sent = encoded(own, f32);
    const MixTerm sound{NodeId{1}, 0.3, encoded(good, f32), sent};
    const std::vector<MixTerm> terms = {sound, {NodeId{2}, 0.3, encoded(bad, f32), sent}};
    const MixResult result = mix(x, sent, terms, f32);
    mix(expected, sent, std::span(&sound, 1), f32);
    CHECK(copy_of(x) == copy_of(expected));
    REQUIRE(result.rejections.size() == 1);
    CHECK(result.rejections[0].peer == NodeId{2});
    CHECK(result.rejections[0].reason == "not finite");
    CHECK(result.distances.size() == 1);
  }
}

TEST_CASE("A late pair of which either vector is not finite is mixed at neither end") {
  const std::size_t size = 100;
  const auto now = random_vector<float>(size, 1), theirs = random_vector<float>(size, 2);
  auto poisoned = random_vector<float>(size, 3);
  poisoned[50] = std::numeric_limits<float>::infinity();
  const Format& f32 = *format_named("f32");
  for (const bool is_own : {false, true}) {
    SharedVector<float> x = shared(now);
    const MixTerm late{NodeId{2}, 0.3, encoded(is_own ? theirs : poisoned, f32),
                       encoded(is_own ? poisoned : theirs, f32)};
    const MixResult result = mix(x, encoded(now, f32), std::span(&late, 1), f32);
    CHECK(copy_of(x) == now);
    CHECK(result.mixed.empty());
    CHECK(result.rejections.size() == 1);
  }
}

TEST_CASE("A node whose own vector is not finite does not blame its neighbours") {
  const std::vector<float> theirs = {1, 2}, own = {1, std::numeric_limits<float>::infinity()};
  const Format& f32 = *format_named("f32");
  SharedVector<float> x = shared(own);
  const Payload sent = encoded(own, f32);
  const MixTerm term{NodeId{2}, 0.3, encoded(theirs, f32), sent};
  const MixResult result = mix(x, sent, std::span(&term, 1), f32);
  REQUIRE(result.rejections.size() == 1);
  CHECK(result.rejections[0].reason == "own vector not finite");
  CHECK(copy_of(x) == own);
}

TEST_CASE("A vector of another size is refused") {
  const auto own = random_vector<float>(10, 1), longer = random_vector<float>(11, 2);
  SharedVector<float> x = shared(own);
  const Format& f32 = *format_named("f32");
  const Payload sent = encoded(own, f32), theirs = encoded(longer, f32);
  const std::vector<MixTerm> terms = {{NodeId{1}, 0.3, theirs, sent},
                                      {NodeId{2}, 0.3, Payload(), sent},
                                      {NodeId{3}, 0.3, sent, theirs}};
  const MixResult result = mix(x, sent, terms, f32);
  CHECK(copy_of(x) == own);
  CHECK(result.rejections.size() == 3);
}

TEST_CASE("A pair that mixes what was sent keeps its sum though the wire rounds") {
  const auto a = random_vector<double>(5000, 1), b = random_vector<double>(5000, 2);
  SharedVector<double> x = shared(a), y = shared(b);
  const Payload sent_a = encoded(a, *format_named("f32")),
                sent_b = encoded(b, *format_named("f32"));
  const MixTerm to_a{NodeId{2}, 0.4, sent_b, sent_a}, to_b{NodeId{1}, 0.4, sent_a, sent_b};
  mix(x, sent_a, std::span(&to_a, 1), *format_named("f32"));
  mix(y, sent_b, std::span(&to_b, 1), *format_named("f32"));
  double drift = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    drift = std::max(drift, std::abs(x.values()[i] + y.values()[i] - a[i] - b[i]));
  CHECK(drift < 1e-14);
}

TEST_CASE_TEMPLATE("Both ends of an edge count the same but for the sign", S, float, double) {
  constexpr std::size_t kSize = 37;
  for (const Format& codec : formats()) {
    std::vector<S> flow(kSize), flow_of_peer(kSize);
    for (std::uint64_t round = 0; round < 1000; ++round) {
      // Of the last numbers of what was sent.
      const Payload sent = encoded(random_vector<S>(2 * kSize, 2 * round), codec);
      const Payload theirs = encoded(random_vector<S>(2 * kSize, 2 * round + 1), codec);
      const double weight = 1 / static_cast<double>(2 + round % 5);
      accumulate(std::span(flow), kSize, {NodeId{2}, weight, theirs, sent}, codec);
      accumulate(std::span(flow_of_peer), kSize, {NodeId{1}, weight, sent, theirs}, codec);
    }
    CHECK(squared_norm(std::span<const S>(flow)) > 1000);
    axpy(S{1}, std::span<const S>(flow_of_peer), std::span(flow));
    CHECK(flow == std::vector<S>(kSize));
  }
}

TEST_CASE("A vector survives its encoding") {
  BufferPool pool;
  const auto values = random_vector<double>(5001, 4);
  std::vector<double> back(values.size());
  decode<double>(*format_named("f64"), encode<double>(*format_named("f64"), values, pool), back);
  CHECK(back == values);
  decode<double>(*format_named("f32"), encode<double>(*format_named("f32"), values, pool), back);
  for (std::size_t i = 0; i < values.size(); ++i)
    REQUIRE(back[i] == static_cast<double>(static_cast<float>(values[i])));
  CHECK_FALSE(fits(*format_named("f32"),
                   in_pieces(encode<double>(*format_named("f32"), values, pool), 6), 5001));
}

TEST_CASE("A pool gives a buffer again once nobody shows it") {
  BufferPool pool;
  const std::vector<float> values(1000, 1.0F);
  const void* first = nullptr;
  {
    const Payload payload = encode<float>(*format_named("f32"), values, pool);
    first = payload.pieces()[0].bytes.data();
    const Payload other = encode<float>(*format_named("f32"), values, pool);
    CHECK(other.pieces()[0].bytes.data() != first);
  }
  const Payload again = encode<float>(*format_named("f32"), values, pool);
  const Payload and_again = encode<float>(*format_named("f32"), values, pool);
  CHECK((again.pieces()[0].bytes.data() == first || and_again.pieces()[0].bytes.data() == first));
}

TEST_CASE("The result may overwrite the only vector that it is averaged with") {
  const Format& f32 = *format_named("f32");
  const auto own = random_vector<float>(10'001, 1);
  auto theirs = random_vector<float>(10'001, 2);
  BufferPool pool;
  const Payload sent = encoded(own, f32);
  for (const bool is_sound : {true, false}) {
    if (!is_sound) theirs.back() = std::numeric_limits<float>::infinity();
    SharedVector<float> x = shared(own), expected = shared(own);
    const MixTerm term{NodeId{7}, 0.25, encode<float>(f32, theirs, pool), sent};
    const MixTerm again{NodeId{7}, 0.25, encoded(theirs, f32), sent};
    const auto room = BufferPool::reopen(term.theirs);
    REQUIRE(room);
    const MixResult result = mix(x, sent, std::span(&term, 1), f32, {}, room);
    CHECK(result.rejections.size() == (is_sound ? 0 : 1));
    CHECK(mix(expected, sent, std::span(&again, 1), f32).mixed == result.mixed);
    CHECK(copy_of(x) == copy_of(expected));
    CHECK((static_cast<const void*>(x.values().data()) == room.get()) == is_sound);
  }
}
