// Keys for tests.
#pragma once

#include "base/keys.h"

namespace starling::test {

// The same number gives the same pair. REQUIRES a number below 256.
inline KeyPair test_key(std::size_t number) {
  Secret seed(kKeyBytes);
  seed.bytes()[0] = static_cast<std::byte>(number);
  return KeyPair(seed);
}

}  // namespace starling::test
