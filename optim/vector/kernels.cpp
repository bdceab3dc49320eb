#include "optim/vector/kernels.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/check.h"
#include "base/every_cpu.h"
#include "base/prng.h"

namespace starling::optim {
namespace {

// Partial sums are kept in lanes, so that the order of summation does not depend on the instruction
// set and the compiler can still use all of it.
constexpr std::size_t kLanes = 32;

// Prefetches the cache lines of one step of the lanes, a page ahead: the hardware prefetches within
// a page only. The address may lie past the end.
constexpr std::size_t kAheadBytes = 4096;
constexpr std::size_t kCacheLine = 64;

template <class S>
[[gnu::always_inline]] inline void fetch_ahead(const S* from) {
  const auto start = reinterpret_cast<std::uintptr_t>(from) + kAheadBytes;
  for (std::size_t k = 0; k < kLanes * sizeof(S); k += kCacheLine)
    __builtin_prefetch(reinterpret_cast<const void*>(start + k));
}

template <class S>
[[gnu::always_inline]] inline double sum(const std::array<S, kLanes>& lanes) {
  double total = 0;
  for (S lane : lanes) total += static_cast<double>(lane);
  return total;
}

// Stores past the caches, which saves fetching what is overwritten. REQUIRES `to` at a multiple of
// 16 and whole multiples of 16 bytes.
[[gnu::always_inline]] inline void stream(const void* from, void* to, std::size_t bytes) {
#ifdef __SSE2__
  const auto* source = static_cast<const __m128i*>(from);
  auto* target = static_cast<__m128i*>(to);
  for (std::size_t k = 0; k < bytes / sizeof(__m128i); ++k)
    _mm_stream_si128(target + k, _mm_load_si128(source + k));
#else
  std::memcpy(to, from, bytes);
#endif
}

// `kCount` neighbours at once: all streams of memory run at the same time.
template <std::size_t kCount, class S>
[[gnu::always_inline]] inline void pull_all(const PullSources<S>& from, std::size_t first, S* out,
                                            bool is_streamed, double* squared) {
  const S *x = from.x.data(), *own = from.own.data();
  std::array<const S*, kCount> theirs;
  std::array<S, kCount> weight;
  for (std::size_t j = 0; j < kCount; ++j) {
    theirs[j] = from.theirs[first + j].data();
    weight[j] = from.weights[first + j];
  }
  const std::size_t n = from.x.size();
  std::array<std::array<S, kLanes>, kCount> lanes{};
  alignas(64) std::array<S, kLanes> result;
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t j = 0; j < kCount; ++j) fetch_ahead(theirs[j] + i);
    fetch_ahead(own + i);
    if (x != own) fetch_ahead(x + i);
    for (std::size_t k = 0; k < kLanes; ++k) {
      S value = x[i + k];
      for (std::size_t j = 0; j < kCount; ++j) {
        const S difference = theirs[j][i + k] - own[i + k];
        value += weight[j] * difference;
        lanes[j][k] += difference * difference;
      }
      result[k] = value;
    }
    if (is_streamed)
      stream(result.data(), out + i, sizeof(result));
    else
      std::ranges::copy(result, out + i);
  }
  for (; i < n; ++i) {
    S value = x[i];
    for (std::size_t j = 0; j < kCount; ++j) {
      const S difference = theirs[j][i] - own[i];
      value += weight[j] * difference;
      lanes[j][0] += difference * difference;
    }
    out[i] = value;
  }
  for (std::size_t j = 0; j < kCount; ++j) squared[j] += sum(lanes[j]);
}

template <class S>
[[gnu::always_inline]] inline void pull_some(const PullSources<S>& from, std::size_t first,
                                             std::size_t count, S* out, bool is_streamed,
                                             double* squared) {
  switch (count) {
    case 1:
      return pull_all<1>(from, first, out, is_streamed, squared);
    case 2:
      return pull_all<2>(from, first, out, is_streamed, squared);
    case 3:
      return pull_all<3>(from, first, out, is_streamed, squared);
    default:
      return pull_all<4>(from, first, out, is_streamed, squared);
  }
}

// Sums f(i) in tiles: single precision inside a tile, double across tiles.
template <class S, class Term>
[[gnu::always_inline]] inline double tiled_sum(std::size_t n, Term term) {
  double total = 0;
  for (std::size_t start = 0; start < n; start += kTile) {
    const std::size_t stop = std::min(n, start + kTile);
    std::array<S, kLanes> lanes{};
    std::size_t i = start;
    for (; i + kLanes <= stop; i += kLanes)
      for (std::size_t k = 0; k < kLanes; ++k) lanes[k] += term(i + k);
    for (; i < stop; ++i) lanes[0] += term(i);
    total += sum(lanes);
  }
  return total;
}

template <class S>
[[gnu::always_inline]] inline void sketch_all(const S* x, std::size_t n, double* out) {
  for (std::size_t start = 0; start < n; start += kSketchSize) {
    const std::uint64_t signs = mix64(start);
    const std::size_t length = std::min(kSketchSize, n - start);
    for (std::size_t k = 0; k < length; ++k) {
      const double value = static_cast<double>(x[start + k]);
      out[k] += (signs >> k & 1) != 0 ? value : -value;
    }
  }
}

}  // namespace

#define KERNELS_FOR(S)                                                                    \
  EVERY_CPU void pull(const PullSources<S>& from, std::size_t first, std::size_t count,   \
                      std::span<S> out, bool is_streamed, std::span<double> squared) {    \
    pull_some(from, first, count, out.data(), is_streamed, &squared[first]);              \
  }                                                                                       \
  EVERY_CPU void axpy(S a, std::span<const S> x, std::span<S> y) {                        \
    const S* from = x.data();                                                             \
    S* to = y.data();                                                                     \
    for (std::size_t i = 0; i < y.size(); ++i) to[i] += a * from[i];                      \
  }                                                                                       \
  EVERY_CPU double squared_norm(std::span<const S> x) {                                   \
    const S* p = x.data();                                                                \
    return tiled_sum<S>(x.size(), [p](std::size_t i) { return p[i] * p[i]; });            \
  }                                                                                       \
  EVERY_CPU double squared_distance(std::span<const S> x, std::span<const S> y) {         \
    const S *p = x.data(), *q = y.data();                                                 \
    return tiled_sum<S>(x.size(),                                                         \
                        [p, q](std::size_t i) { return (p[i] - q[i]) * (p[i] - q[i]); }); \
  }                                                                                       \
  EVERY_CPU void sketch(std::span<const S> x, std::span<double> out) {                    \
    ENSURE(out.size() == kSketchSize, "a sketch has its fixed size");                     \
    sketch_all(x.data(), x.size(), out.data());                                           \
  }

KERNELS_FOR(float)
KERNELS_FOR(double)

}  // namespace starling::optim
