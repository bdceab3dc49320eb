#include "daemon/process/worker.h"

#include <utility>

#include "daemon/process/quiet_thread.h"

namespace starling::daemon {

Worker::Worker() : thread_(quiet_thread([this](const std::stop_token& stop) { run(stop); })) {}

bool Worker::submit(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (tasks_.size() >= kTasksLimit) return false;
    tasks_.push_back(std::move(task));
  }
  came_.notify_one();
  return true;
}

void Worker::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (true) {
    came_.wait(lock, stop, [this] { return !tasks_.empty(); });
    if (stop.stop_requested()) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // what it holds is freed without the lock
    lock.lock();
  }
}

}  // namespace starling::daemon
