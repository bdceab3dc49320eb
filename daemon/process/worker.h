// Worker: a thread that runs one task after another, for tasks that would block the caller.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace starling::daemon {

class Worker {
 public:
  static constexpr std::size_t kTasksLimit = 64;

  // The destructor waits for the task under way and drops those not begun.
  Worker();

  // Any thread. Returns false if kTasksLimit tasks wait. REQUIRES a task that does not throw.
  bool submit(std::function<void()> task);

 private:
  void run(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any came_;
  std::deque<std::function<void()>> tasks_;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace starling::daemon
