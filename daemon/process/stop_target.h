// StopTarget: the loop that a signal stops. Any thread.
#pragma once

#include <mutex>

#include "daemon/process/loop.h"

namespace starling::daemon {

class StopTarget {
 public:
  // Null: the loop has ended.
  void set(Loop* loop) {
    const std::scoped_lock lock(mutex_);
    loop_ = loop;
    has_run_ = true;
  }

  // False: the loop does not run yet.
  bool stop() {
    const std::scoped_lock lock(mutex_);
    if (loop_) loop_->stop();
    return has_run_;
  }

 private:
  std::mutex mutex_;
  Loop* loop_ = nullptr;
  bool has_run_ = false;
};

// The target of the process; never destroyed, because the thread of the signals may outlive main().
inline StopTarget& stop_target() {
  static auto* target = new StopTarget;
  return *target;
}

}  // namespace starling::daemon
