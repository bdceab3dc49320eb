#include "daemon/attach/step_watch.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace starling::daemon {
namespace {

// The part of a new time in the moving means, as of a round trip in TCP (RFC 6298).
constexpr double kMeanGain = 0.125, kDeviationGain = 0.25;

}  // namespace

void StepWatch::begin(Time now, std::uint64_t progress) {
  is_open_ = true;
  begun_ = progress_ = progress;
  counted_at_ = now;
}

void StepWatch::end(Time now) {
  if (progress_ == begun_) look(now, progress_ + 1);
  is_open_ = false;
}

void StepWatch::look(Time now, std::uint64_t progress) {
  if (!is_open_ || progress == progress_) return;
  // Several steps between two looks are so many shorter ones.
  const auto steps = static_cast<double>(progress > progress_ ? progress - progress_ : 1);
  const double took = seconds(now - counted_at_) / steps;
  if (!std::exchange(has_counted_, true)) {
    mean_s_ = took;
    deviation_s_ = took / 2;
  }
  deviation_s_ += kDeviationGain * (std::abs(took - mean_s_) - deviation_s_);
  mean_s_ += kMeanGain * (took - mean_s_);
  progress_ = progress;
  counted_at_ = now;
}

Duration StepWatch::patience() const {
  return std::max(kLeast, usual());
}

bool StepWatch::is_silent(Time now) const {
  return is_open_ && now - counted_at_ > std::max(kShort, usual());
}

std::optional<Duration> StepWatch::standstill(Time now) const {
  if (!is_open_ || now - counted_at_ <= patience()) return std::nullopt;
  return now - counted_at_;
}

}  // namespace starling::daemon
