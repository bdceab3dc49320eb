#include "base/content_hash.h"

#include <xxhash.h>
// The library chooses the fastest code for the processor at run time, because this program is
// compiled for plain x86-64. The hashes are the same.
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "base/check.h"

namespace starling {

namespace {

using State = std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)>;

// A payload lies in main memory, and one stream of reads does not use its full bandwidth. The hash
// prefetches this far ahead, because the hardware prefetches within a page only. The prefetched
// address may lie past the end of the bytes.
constexpr std::size_t kAheadBytes = 4096;
constexpr std::size_t kStepBytes = 1024;
constexpr std::size_t kCacheLine = 64;
// A smaller payload is hashed at once: the state and the steps would cost more than they save.
constexpr std::size_t kSmallBytes = 32 << 10;

void update(XXH3_state_t& state, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto ahead = reinterpret_cast<std::uintptr_t>(bytes.data()) + kAheadBytes;
    for (std::size_t k = 0; k < kStepBytes; k += kCacheLine)
      __builtin_prefetch(reinterpret_cast<const void*>(ahead + k));
    const std::size_t step = std::min(kStepBytes, bytes.size());
    XXH3_64bits_update(&state, bytes.data(), step);
    bytes = bytes.subspan(step);
  }
}

}  // namespace

std::uint64_t content_hash(const Payload& payload) {
  if (payload.pieces().size() == 1 && payload.size() <= kSmallBytes)
    return XXH3_64bits(payload.pieces().front().bytes.data(), payload.size());
  const State state(XXH3_createState(), &XXH3_freeState);
  ENSURE(state != nullptr, "a hash state was allocated");
  XXH3_64bits_reset(state.get());
  for (const Payload::Piece& piece : payload.pieces()) update(*state, piece.bytes);
  return XXH3_64bits_digest(state.get());
}

std::uint64_t content_hash(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace starling
