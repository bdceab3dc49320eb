// OnDemand: a value that one thread makes only when another asks for it, for it costs something to
// make. Every member function may be called from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace starling::daemon {

template <class T>
class OnDemand {
 public:
  // Somebody waits in read().
  bool is_wanted() const {
    const std::lock_guard lock(mutex_);
    return is_wanted_;
  }
  void publish(std::shared_ptr<const T> value) {
    {
      const std::lock_guard lock(mutex_);
      value_.swap(value);
      published_at_ = Clock::now();
      is_wanted_ = false;
    }
    published_.notify_all();
  }
  // What was published last, whatever its age.
  std::shared_ptr<const T> last() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }
  // The last value if it is at most `fresh` old; else wakes the maker and waits for its next one,
  // `answer` at most, after which the last one must do.
  std::shared_ptr<const T> read(const std::function<void()>& wake, std::chrono::milliseconds fresh,
                                std::chrono::milliseconds answer) {
    std::unique_lock lock(mutex_);
    if (!wake || (value_ && Clock::now() - published_at_ < fresh)) return value_;
    is_wanted_ = true;
    lock.unlock();
    wake();
    lock.lock();
    published_.wait_for(lock, answer, [this] { return !is_wanted_; });
    return value_;
  }
  void forget() {
    const std::lock_guard lock(mutex_);
    value_.reset();
  }

 private:
  using Clock = std::chrono::steady_clock;

  mutable std::mutex mutex_;
  std::shared_ptr<const T> value_;
  Clock::time_point published_at_{};
  bool is_wanted_ = false;
  std::condition_variable published_;
};

}  // namespace starling::daemon
