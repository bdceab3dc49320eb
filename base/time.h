// Time as an argument: nothing below the drivers reads a clock. The daemon counts from the start
// of the process, the simulator from the start of the scenario.
#pragma once

#include <chrono>

namespace starling {

using Duration = std::chrono::nanoseconds;

// Tag of our own time line; it has no now() on purpose.
struct NodeClock {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  static constexpr bool is_steady = true;
};
using Time = std::chrono::time_point<NodeClock, Duration>;

inline constexpr Time kNever = Time::max();

inline double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}
inline double seconds(Time time) {
  return seconds(time.time_since_epoch());
}

// Rounds to nanoseconds; REQUIRES |value| < 2^63 ns (about 292 years).
inline Duration from_seconds(double value) {
  return Duration(static_cast<Duration::rep>(value * 1e9));
}

}  // namespace starling
