// ProgressLine: the progress of a long computation, on standard error. On a terminal it is one
// line, redrawn twice a second and removed at the end; elsewhere a line every ten seconds. A
// shorter computation shows nothing.
#pragma once

#include <unistd.h>

#include <chrono>
#include <mutex>
#include <string>

#include "daemon/cli/terminal/screen.h"

namespace starling::daemon {

class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();

  // From any thread, as often as anything happens; makes the text only when it is due.
  template <class MakeText>
  void tell(MakeText make_text) {
    const std::lock_guard lock(mutex_);
    if (const auto now = std::chrono::steady_clock::now(); now >= due_) show(now, make_text());
  }
  // Removes the line before other output.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  // REQUIRES the lock.
  void show(Clock::time_point now, const std::string& text);

  std::mutex mutex_;
  Screen screen_{STDERR_FILENO};
  Clock::duration every_;
  Clock::time_point due_;
};

}  // namespace starling::daemon
