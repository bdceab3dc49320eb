// content_hash: the checksum of bytes on the wire and on the disk: XXH3, 64 bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/payload.h"

namespace starling {

// Does not depend on how the payload is cut into pieces.
std::uint64_t content_hash(const Payload& payload);
std::uint64_t content_hash(std::span<const std::byte> bytes);

}  // namespace starling
