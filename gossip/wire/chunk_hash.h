// The checksum of a chunk or a header: XXH3, 64 bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/payload.h"

namespace starling::gossip {

std::uint64_t chunk_hash(const Payload& chunk);
std::uint64_t header_hash(std::span<const std::byte> header);

}  // namespace starling::gossip
