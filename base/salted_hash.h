// salted_hash: 64 bits of a keyed hash of a text (BLAKE2b, by libsodium), the same on every
// machine. Without the salt nobody can tell which of some texts a hash is of.
#pragma once

#include <cstdint>
#include <string_view>

namespace starling {

std::uint64_t salted_hash(std::string_view salt, std::string_view text);

}  // namespace starling
