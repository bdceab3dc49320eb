// mutated: an input that is made of others by chance, for the short form of fuzzing.
#pragma once

#include <string>
#include <vector>

#include "base/prng.h"

namespace starling::fuzz {

// One of `inputs` with one to eight changes: flipped bits, other bytes, parts that are left out,
// repeated or taken from another input, numbers at the ends of their ranges. At most `limit` bytes,
// or as many as the longest input. REQUIRES an input.
std::string mutated(Prng& prng, const std::vector<std::string>& inputs, std::size_t limit);

}  // namespace starling::fuzz
