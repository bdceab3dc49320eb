#include "base/salted_hash.h"

#include <sodium.h>

#include <array>
#include <cstring>

namespace starling {

// The salt, of any length, is hashed into a key.
std::uint64_t salted_hash(std::string_view salt, std::string_view text) {
  const auto bytes = [](std::string_view of) {
    return reinterpret_cast<const unsigned char*>(of.data());
  };
  std::array<unsigned char, crypto_generichash_KEYBYTES> key{};
  crypto_generichash(key.data(), key.size(), bytes(salt), salt.size(), nullptr, 0);
  std::array<unsigned char, crypto_generichash_BYTES_MIN> hash{};
  crypto_generichash(hash.data(), hash.size(), bytes(text), text.size(), key.data(), key.size());
  std::uint64_t number = 0;
  for (std::size_t k = 0; k < sizeof number; ++k) number = number << 8 | hash[k];
  return number;
}

}  // namespace starling
