// StepWatch: distinguishes a trainer that stands still from one with slow steps, by the counter of
// its steps. Its patience follows from the steps so far.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace starling::daemon {

class StepWatch {
 public:
  // A job begins with the counter at `progress`. The first step of a trainer, which may load data
  // or compile, has no limit.
  void begin(Time now, std::uint64_t progress);
  // The job is over.
  void end() { is_open_ = false; }
  void look(Time now, std::uint64_t progress);

  // The time without a counted step, if longer than the patience.
  std::optional<Duration> standstill(Time now) const;
  // Four means and four deviations of the time between two counts, at least kLeast.
  Duration patience() const;

 private:
  static constexpr Duration kLeast = std::chrono::seconds(10);

  bool is_open_ = false, has_counted_ = false;
  std::uint64_t progress_ = 0;
  Time counted_at_{};
  double mean_s_ = 0, deviation_s_ = 0;  // moving means of the time and of its distance to the mean
};

}  // namespace starling::daemon
