// KeyStream: chance that nobody can foresee, or find out from what was drawn, without the key:
// ChaCha20 (Bernstein: ChaCha, a variant of Salsa20, 2008), by libsodium. Pure: the same key gives
// the same numbers. Never draw from one key twice for two purposes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/secret.h"

namespace starling {

class KeyStream {
 public:
  static constexpr std::size_t kKeySize = 32;  // bytes

  // Copies the key. REQUIRES kKeySize bytes.
  explicit KeyStream(const Secret& key);

  std::uint64_t next();
  // Uniform in (0, 1] with 53 bits.
  double uniform() { return static_cast<double>((next() >> 11) + 1) * 0x1.0p-53; }

 private:
  void refill();

  Secret key_;
  std::uint64_t block_ = 0;  // of the cipher, that the next numbers begin with
  std::array<std::uint64_t, 512> numbers_{};
  std::size_t used_ = numbers_.size();
};

}  // namespace starling
