#include "base/stream_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace starling {

void stream_copy(std::span<const std::byte> from, std::byte* to) {
#ifdef __SSE2__
  // Stores past the caches need an aligned target, and go to memory in whole cache lines.
  constexpr std::size_t kLine = 64;
  const std::size_t head = (kLine - reinterpret_cast<std::uintptr_t>(to) % kLine) % kLine;
  if (head < from.size()) {
    std::memcpy(to, from.data(), head);
    from = from.subspan(head);
    to += head;
    for (; from.size() >= kLine; from = from.subspan(kLine), to += kLine) {
      const auto* const source = reinterpret_cast<const __m128i*>(from.data());
      auto* const target = reinterpret_cast<__m128i*>(to);
      for (std::size_t k = 0; k < kLine / sizeof(__m128i); ++k)
        _mm_stream_si128(target + k, _mm_loadu_si128(source + k));
    }
    _mm_sfence();
  }
#endif
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

}  // namespace starling
