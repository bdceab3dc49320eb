// SendMeter: how evenly a node sends: its bytes of the last sixteen seconds, by quarters of a
// second.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace starling::gossip {

class SendMeter {
 public:
  // `bytes`: sent so far. Bytes count in the window in which they are told.
  void add(Time now, std::uint64_t bytes) {
    const auto window = static_cast<std::uint64_t>(now.time_since_epoch() / kWindow);
    if (count_ == 0) window_ = window, count_ = 1;
    // The windows in between had none.
    for (std::size_t k = 0; window_ < window && k < kWindows; ++k, ++window_) open_next();
    window_ = window;
    bytes_[next_] += static_cast<double>(bytes - told_);
    told_ = bytes;
  }
  // Bytes per second, over all windows and in the fullest.
  double mean() const {
    double sum = 0;
    for (const double bytes : bytes_) sum += bytes;
    return sum / (static_cast<double>(std::max<std::size_t>(count_, 1)) * seconds(kWindow));
  }
  double most() const { return *std::ranges::max_element(bytes_) / seconds(kWindow); }

 private:
  static constexpr Duration kWindow = std::chrono::milliseconds(250);
  static constexpr std::size_t kWindows = 64;

  void open_next() {
    next_ = (next_ + 1) % kWindows;
    bytes_[next_] = 0;
    count_ = std::min(count_ + 1, kWindows);
  }

  std::array<double, kWindows> bytes_{};
  std::size_t next_ = 0, count_ = 0;  // the window that is open, and how many there were
  std::uint64_t window_ = 0, told_ = 0;
};

}  // namespace starling::gossip
