// StepWatch: distinguishes a trainer that stands still from one with slow steps, by the counter of
// its steps. Its patience follows from the steps so far.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace starling::daemon {

class StepWatch {
 public:
  // A job begins with the counter at `progress`.
  void begin(Time now, std::uint64_t progress);
  // The job is over. One in which nothing was counted counts as one step.
  void end(Time now);
  void look(Time now, std::uint64_t progress);

  // The time without a counted step, if longer than the patience.
  std::optional<Duration> standstill(Time now) const;
  // Whether none was counted for kShort and for longer than usual: for the end, when nobody can
  // wait as long as for a standstill. A trainer that has counted none has none to lose.
  bool is_silent(Time now) const;
  bool has_counted() const { return has_counted_; }
  // Four means and four deviations of the time between two counts, at least kLeast.
  Duration patience() const;

 private:
  static constexpr Duration kLeast = std::chrono::seconds(10);
  // Longer: a node beside a trainer that stands still leaves later. Shorter: one that reads data or
  // evaluates does not save its work when the node leaves.
  static constexpr Duration kShort = std::chrono::seconds(2);

  Duration usual() const { return from_seconds(4 * mean_s_ + 4 * deviation_s_); }

  bool is_open_ = false, has_counted_ = false;
  std::uint64_t begun_ = 0, progress_ = 0;
  Time counted_at_{};
  double mean_s_ = 0, deviation_s_ = 0;  // moving means of the time and of its distance to the mean
};

}  // namespace starling::daemon
