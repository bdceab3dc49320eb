#include "daemon/process/clock.h"

#include <algorithm>

namespace starling::daemon {

Time now() {
  static const auto start = std::chrono::steady_clock::now();
  return Time(std::chrono::steady_clock::now() - start);
}

std::uint64_t wall_clock() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::seconds>(since).count(), 0));
}

}  // namespace starling::daemon
