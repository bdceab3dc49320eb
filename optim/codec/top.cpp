// top: keeps the fraction `density` of each chunk of 4096 numbers with the largest magnitudes, the
// first of equals. Each takes two bytes, in order of place: the place in the lower 12 bits, a level
// -7 .. 7 in the upper 4. All other numbers decode to 0.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "optim/codec/block_kernels.h"
#include "optim/codec/levels.h"

namespace starling::optim {
namespace top {
namespace {

constexpr std::size_t kChunk = 4096;
constexpr unsigned kPlaceBits = 12;
constexpr double kTopLevel = 7;
static_assert(kChunk <= kBlockLimit && kChunk <= 1U << kPlaceBits);

using Entry = std::uint16_t;

std::size_t kept(std::size_t count, double density) {
  constexpr double kRounding = 1e-9;
  const double wanted = std::ceil(density * static_cast<double>(count) - kRounding);
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::max(wanted, 1.0)), 1, count);
}

std::size_t bytes(std::size_t count, double density) {
  return levels::kScaleBytes + sizeof(Entry) * kept(count, density);
}

// Magnitudes as unsigned integers that compare alike.
template <class S>
struct Sizes;
template <>
struct Sizes<float> {
  using Key = std::uint32_t;
};
template <>
struct Sizes<double> {
  using Key = std::uint64_t;
};
template <class S>
using Key = typename Sizes<S>::Key;
template <class S>
[[gnu::always_inline]] inline Key<S> key_of(S value) {
  return std::bit_cast<Key<S>>(value) & (~Key<S>{0} >> 1);
}

// The smallest key that is kept, and how many numbers with this key are kept.
template <class S>
struct Threshold {
  Key<S> least = 0;
  std::size_t equal = 0;
};

// Radix selection from the highest bits down. Each step keeps only the keys that share the upper
// bits of the smallest kept key.
template <class S>
[[gnu::always_inline]] inline Threshold<S> threshold(std::span<const S> v, std::size_t count) {
  constexpr unsigned kDigitBits = 8;
  constexpr std::size_t kDigits = 1U << kDigitBits;
  std::array<Key<S>, kChunk> keys;
  for (std::size_t k = 0; k < v.size(); ++k) keys[k] = key_of(v[k]);
  std::size_t size = v.size();
  Threshold<S> found{.equal = count};
  for (unsigned shift = 8 * sizeof(S) - kDigitBits;; shift -= kDigitBits) {
    std::array<std::uint16_t, kDigits> histogram{};
    for (std::size_t k = 0; k < size; ++k) ++histogram[keys[k] >> shift & (kDigits - 1)];
    std::size_t digit = kDigits - 1;
    while (histogram[digit] < found.equal) found.equal -= histogram[digit--];
    found.least |= static_cast<Key<S>>(digit) << shift;
    if (shift == 0) return found;
    std::size_t next = 0;
    for (std::size_t k = 0; k < size; ++k) {
      keys[next] = keys[k];
      next += (keys[k] >> shift & (kDigits - 1)) == digit;
    }
    size = next;
  }
}

template <class S>
[[gnu::always_inline]] inline void encode_block(std::span<const S> v, double density,
                                                std::byte* wire) {
  const std::size_t count = kept(v.size(), density);
  Threshold<S> limit = threshold(v, count);
  std::array<std::uint16_t, kChunk> places;
  std::size_t found = 0;
  S size = 0;
  for (std::size_t k = 0; k < v.size(); ++k) {
    const Key<S> key = key_of(v[k]);
    if (key < limit.least) continue;
    if (key == limit.least && limit.equal == 0) continue;
    if (key == limit.least) --limit.equal;
    places[found++] = static_cast<std::uint16_t>(k);
    size = std::max(size, std::abs(v[k]));
  }
  const S unit = static_cast<S>(kTopLevel) / size;
  double vz = 0, zz = 0;
  std::byte* to = wire + levels::kScaleBytes;
  for (std::size_t n = 0; n < count; ++n) {
    const S value = v[places[n]];
    const S level = std::isfinite(unit) ? std::nearbyint(value * unit) : S{0};
    vz += static_cast<double>(value) * static_cast<double>(level);
    zz += static_cast<double>(level) * static_cast<double>(level);
    const auto bits = static_cast<unsigned>(static_cast<int>(level) & 15);
    const auto entry = static_cast<Entry>(places[n] | bits << kPlaceBits);
    std::memcpy(to + n * sizeof(Entry), &entry, sizeof(Entry));
  }
  levels::write_scale(levels::fitted_scale(vz, zz), wire);
}

template <class S>
[[gnu::always_inline]] inline bool decode_block(const std::byte* wire, double density,
                                                std::span<S> q) {
  const float scale = levels::read_scale(wire);
  if (!levels::is_scale(scale)) return false;
  std::fill(q.begin(), q.end(), S{0});
  const std::byte* from = wire + levels::kScaleBytes;
  std::size_t next = 0;  // the lowest place that the next entry may have
  for (std::size_t n = 0, count = kept(q.size(), density); n < count; ++n) {
    Entry entry;
    std::memcpy(&entry, from + n * sizeof(Entry), sizeof(Entry));
    const std::size_t place = entry & (kChunk - 1);
    if (place < next || place >= q.size()) return false;
    next = place + 1;
    const int level = static_cast<std::int16_t>(entry) >> kPlaceBits;
    q[place] = static_cast<S>(level) * static_cast<S>(scale);
  }
  return true;
}

BLOCK_KERNELS

}  // namespace
}  // namespace top

Compressor top_row() {
  return {.name = "top",
          .help =
              "the P % of the numbers that differ most, two bytes each; for thin links and "
              "linear models",
          .is_sparse = true,
          .block = top::kChunk,
          .bytes = top::bytes,
          .in_single = {top::encode, top::decode},
          .in_double = {top::encode, top::decode}};
}

}  // namespace starling::optim
