// The clock of the process: steady time since it started, the same for all its threads.
#pragma once

#include <chrono>

#include "base/time.h"

namespace starling::daemon {

Time now();

// When now() was zero, by the clock of the machine as that is now.
inline std::chrono::system_clock::time_point started_at() {
  using std::chrono::system_clock;
  return system_clock::now() - std::chrono::duration_cast<system_clock::duration>(now() - Time{});
}

}  // namespace starling::daemon
