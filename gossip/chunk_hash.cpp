#include "gossip/chunk_hash.h"

#include <xxhash.h>
// The library's choice at run time, where it has one: the product is compiled for plain x86-64.
// The sums are the same.
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif

#include <memory>

#include "base/check.h"

namespace starling::gossip {

std::uint64_t chunk_hash(const Payload& chunk) {
  if (chunk.pieces().size() == 1) {
    const auto bytes = chunk.pieces().front().bytes;
    return XXH3_64bits(bytes.data(), bytes.size());
  }
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       &XXH3_freeState);
  ENSURE(state != nullptr, "a hash state was allocated");
  XXH3_64bits_reset(state.get());
  for (const Payload::Piece& piece : chunk.pieces())
    XXH3_64bits_update(state.get(), piece.bytes.data(), piece.bytes.size());
  return XXH3_64bits_digest(state.get());
}

}  // namespace starling::gossip
