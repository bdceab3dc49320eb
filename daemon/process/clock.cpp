#include "daemon/process/clock.h"

namespace starling::daemon {

Time now() {
  static const auto start = std::chrono::steady_clock::now();
  return Time(std::chrono::steady_clock::now() - start);
}

}  // namespace starling::daemon
