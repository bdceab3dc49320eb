#include "optim/kernels.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/check.h"
#include "base/prng.h"

// Function multiversioning needs the dynamic loader's ifunc, which sanitizers do not survive.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define EVERY_CPU __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#else
#define EVERY_CPU
#endif

namespace starling::optim {
namespace {

// Partial sums are kept in lanes, so that the order of summation does not depend on the
// instruction set and the compiler may still use it whole.
constexpr std::size_t kLanes = 32;

// Asks for the cache lines of one step of the lanes, a tile ahead: the hardware looks ahead within
// a page only, and a tile of four bytes a number is a page. Nothing is read, so it may lie past the
// end.
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

template <class S>
[[gnu::always_inline]] inline double pull_all(S* x, const S* own, const S* theirs, std::size_t n,
                                              S weight) {
  std::array<S, kLanes> lanes{};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    fetch_ahead(theirs + i);
    fetch_ahead(own + i);
    fetch_ahead(x + i);
    for (std::size_t k = 0; k < kLanes; ++k) {
      const S difference = theirs[i + k] - own[i + k];
      x[i + k] += weight * difference;
      lanes[k] += difference * difference;
    }
  }
  for (; i < n; ++i) {
    const S difference = theirs[i] - own[i];
    x[i] += weight * difference;
    lanes[0] += difference * difference;
  }
  return sum(lanes);
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

#define KERNELS_FOR(S)                                                                     \
  EVERY_CPU double pull(std::span<S> x, std::span<const S> own, std::span<const S> theirs, \
                        S weight) {                                                        \
    return pull_all(x.data(), own.data(), theirs.data(), x.size(), weight);                \
  }                                                                                        \
  EVERY_CPU void axpy(S a, std::span<const S> x, std::span<S> y) {                         \
    const S* from = x.data();                                                              \
    S* to = y.data();                                                                      \
    for (std::size_t i = 0; i < y.size(); ++i) to[i] += a * from[i];                       \
  }                                                                                        \
  EVERY_CPU double squared_norm(std::span<const S> x) {                                    \
    const S* p = x.data();                                                                 \
    return tiled_sum<S>(x.size(), [p](std::size_t i) { return p[i] * p[i]; });             \
  }                                                                                        \
  EVERY_CPU double squared_distance(std::span<const S> x, std::span<const S> y) {          \
    const S *p = x.data(), *q = y.data();                                                  \
    return tiled_sum<S>(x.size(),                                                          \
                        [p, q](std::size_t i) { return (p[i] - q[i]) * (p[i] - q[i]); });  \
  }                                                                                        \
  EVERY_CPU void sketch(std::span<const S> x, std::span<double> out) {                     \
    ENSURE(out.size() == kSketchSize, "a sketch has its fixed size");                      \
    sketch_all(x.data(), x.size(), out.data());                                            \
  }

KERNELS_FOR(float)
KERNELS_FOR(double)

}  // namespace starling::optim
