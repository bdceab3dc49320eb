// holdout: which rows of a file are kept from training, the same on every node.
#pragma once

#include <cstdint>

#include "base/prng.h"

namespace starling::models {

// True for about `fraction` of the rows, by a hash of row and seed alone.
inline bool held_out(std::uint64_t row, double fraction, std::uint64_t seed) {
  return Prng::derive(seed, row).uniform() < fraction;
}

}  // namespace starling::models
