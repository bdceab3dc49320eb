#include "optim/codec/compressor.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/prng.h"
#include "optim/vector/kernels.h"

using namespace starling;
using namespace starling::optim;

namespace {

constexpr double kDensities[] = {0.001, 0.05, 0.3, 1};
constexpr std::size_t kCounts[] = {1, 2, 3, 5, 10, 127, 253, 254, 255, 256, 1000, 4095, 4096};

template <class S>
using Made = std::vector<S> (*)(std::size_t count, Prng& prng);

template <class S>
std::vector<S> filled(std::size_t count, auto make) {
  std::vector<S> v(count);
  for (S& value : v) value = static_cast<S>(make());
  return v;
}

template <class S>
const std::pair<const char*, Made<S>> kVectors[] = {
    {"random",
     [](std::size_t n, Prng& prng) { return filled<S>(n, [&] { return prng.normal(); }); }},
    {"sparse",
     [](std::size_t n, Prng& prng) {
       return filled<S>(n, [&] { return prng.below(50) == 0 ? prng.normal() : 0; });
     }},
    {"one large",
     [](std::size_t n, Prng& prng) {
       auto v = filled<S>(n, [&] { return 1e-3 * prng.normal(); });
       v[n / 2] = 1000;
       return v;
     }},
    {"tiny",
     [](std::size_t n, Prng& prng) {
       const auto least = static_cast<double>(std::numeric_limits<S>::denorm_min());
       return filled<S>(n, [&] { return least * static_cast<double>(prng.below(9)); });
     }},
    {"huge",
     [](std::size_t n, Prng& prng) {
       const double least = std::sqrt(static_cast<double>(std::numeric_limits<S>::max())) / 1e4;
       return filled<S>(n, [&] { return least * prng.normal(); });
     }},
    {"largest",
     [](std::size_t n, Prng&) { return std::vector<S>(n, std::numeric_limits<float>::max()); }},
    {"constant", [](std::size_t n, Prng&) { return std::vector<S>(n, S(-0.3)); }},
    {"zero", [](std::size_t n, Prng&) { return std::vector<S>(n); }},
};

// What the peer reads, block after block.
template <class S>
std::vector<S> received(const Compressor& row, double density, const std::vector<S>& v) {
  const BlockKernels<S>& kernel = kernels<S>(row);
  std::vector<S> q(v.size(), S(77));
  for (std::size_t first = 0; first < v.size(); first += row.block) {
    const std::size_t count = std::min(row.block, v.size() - first);
    constexpr std::byte kEnd{0x5a};
    std::vector<std::byte> wire(row.bytes(count, density) + 1, kEnd);
    kernel.encode(std::span(v).subspan(first, count), density, wire.data());
    CHECK(wire.back() == kEnd);
    CHECK(kernel.decode(wire.data(), density, std::span(q).subspan(first, count)));
  }
  return q;
}

template <class S>
void for_all(auto test) {
  for (const Compressor& row : compressors())
    for (const double density : kDensities) {
      if (!row.is_sparse && density != kDensities[0]) continue;
      CAPTURE(row.name);
      CAPTURE(density);
      for (const auto& [kind, make] : kVectors<S>)
        for (const std::size_t count : kCounts) {
          CAPTURE(kind);
          CAPTURE(count);
          Prng prng(count);
          test(row, density, make(count, prng));
        }
    }
}

}  // namespace

TEST_CASE_TEMPLATE("No vector gets worse by being compressed", S, float, double) {
  for_all<S>([](const Compressor& row, double density, const std::vector<S>& v) {
    const std::vector<S> q = received(row, density, v);
    double size = 0, lost = 0;
    for (std::size_t k = 0; k < v.size(); ++k) {
      REQUIRE(std::isfinite(q[k]));
      const double value = static_cast<double>(v[k]), left = value - static_cast<double>(q[k]);
      size += value * value;
      lost += left * left;
    }
    CHECK(lost <= size);
  });
}

// Of Gaussian numbers what is lost is known in closed form or from tables of quantizers.
TEST_CASE_TEMPLATE("A compressor loses as much as its bits explain", S, float, double) {
  const struct {
    const char* name;
    double density, most;  // of the squared norm
  } kRows[] = {
      {"i8", 1, 7e-5}, {"i4", 1, 0.02}, {"i2", 1, 0.26}, {"top", 0.05, 0.75}, {"top", 0.3, 0.24}};
  Prng prng(5);
  const auto v = filled<S>(1 << 16, [&] { return prng.normal(); });
  for (const auto& [name, density, most] : kRows) {
    CAPTURE(name);
    const auto rows = compressors();
    const auto row = std::ranges::find(rows, std::string_view(name), &Compressor::name);
    REQUIRE(row != rows.end());
    const std::vector<S> q = received(*row, density, v);
    const double lost = squared_distance(std::span<const S>(v), std::span<const S>(q)) /
                        squared_norm(std::span<const S>(v));
    CHECK(lost < most);
    CHECK(lost > most / 3);
  }
}

TEST_CASE("The rows take the bytes that their help tells") {
  for (const Compressor& row : compressors()) CHECK(row.block <= kBlockLimit);
  const auto bytes = [](std::size_t row, std::size_t count, double density = 1) {
    return compressors()[row].bytes(count, density);
  };
  CHECK(bytes(0, 256) == 260);
  CHECK(bytes(1, 256) == 132);
  CHECK(bytes(1, 9) == 9);
  CHECK(bytes(2, 256) == 68);
  CHECK(bytes(3, 4096, 0.05) == 4 + 2 * 205);
  CHECK(bytes(3, 10, 0.2) == 4 + 2 * 2);
}

// Of bytes that are drawn: two processors that decoded them differently would part for ever.
TEST_CASE_TEMPLATE("The same bytes decode to the same bits on every processor", S, float, double) {
  constexpr bool kIsSingle = sizeof(S) == sizeof(float);
  const std::map<std::string_view, std::uint64_t> known = {
      {"i8", kIsSingle ? 14310455530722430357U : 16242849904410319218U},
      {"i4", kIsSingle ? 10795273419410468861U : 11655157753320372455U},
      {"i2", kIsSingle ? 6767663293728558646U : 9660827037335214626U},
      {"top", kIsSingle ? 17527276716019977073U : 15169438210308886968U},
  };
  for (const Compressor& row : compressors()) {
    CAPTURE(row.name);
    Prng prng(17);
    std::vector<std::byte> wire(row.bytes(row.block, 0.05));
    for (std::byte& byte : wire) byte = static_cast<std::byte>(prng.below(256));
    for (std::size_t k = 4; row.is_sparse && k < wire.size(); k += 2) {  // places ascend
      const auto place = static_cast<std::uint16_t>(k * 9 | prng.below(16) << 12);
      std::memcpy(&wire[k], &place, sizeof(place));
    }
    constexpr float kScale = 0.7310123F;
    std::memcpy(wire.data(), &kScale, sizeof(kScale));
    std::vector<S> q(row.block);
    REQUIRE(kernels<S>(row).decode(wire.data(), 0.05, q));
    const std::string bits(reinterpret_cast<const char*>(q.data()), q.size() * sizeof(S));
    const auto found = known.find(row.name);
    REQUIRE(found != known.end());
    CHECK(stable_hash(bits) == found->second);
  }
}

TEST_CASE("Bytes that are no block are refused or read as finite numbers") {
  Prng prng(9);
  for (const Compressor& row : compressors())
    for (int turn = 0; turn < 2000; ++turn) {
      const std::size_t count = 1 + prng.below(row.block);
      std::vector<std::byte> wire(row.bytes(count, 0.05));
      for (std::byte& byte : wire) byte = static_cast<std::byte>(prng.below(256));
      std::vector<float> q(count);
      if (!kernels<float>(row).decode(wire.data(), 0.05, q)) continue;
      for (const float value : q) REQUIRE(std::isfinite(value));
    }
}
