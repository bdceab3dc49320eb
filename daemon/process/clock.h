// The clock of the process: steady time since it started, the same for all its threads.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace starling::daemon {

Time now();

// The time at which now() was zero, by the machine's present clock.
inline std::chrono::system_clock::time_point started_at() {
  using std::chrono::system_clock;
  return system_clock::now() - std::chrono::duration_cast<system_clock::duration>(now() - Time{});
}

// Seconds since 1970, by the machine's clock.
std::uint64_t wall_clock();

}  // namespace starling::daemon
