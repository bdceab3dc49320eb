// SeedRange: the option --seeds A..B.
#pragma once

#include <cstdint>

#include "base/command_line.h"
#include "base/result.h"

namespace starling::daemon {

struct SeedRange {
  std::uint64_t first = 1, last = 1;
};

// `seed` alone where there is no --seeds.
Result<SeedRange> read_seeds(const CommandLine& line, std::uint64_t seed);

}  // namespace starling::daemon
