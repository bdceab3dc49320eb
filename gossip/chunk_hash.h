// The checksum of a chunk: XXH3, 64 bit.
#pragma once

#include <cstdint>

#include "base/payload.h"

namespace starling::gossip {

std::uint64_t chunk_hash(const Payload& chunk);

}  // namespace starling::gossip
