// OnDemand: a costly value that one thread makes only when others request it. Every member function
// may be called from any thread.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace starling::daemon {

template <class T>
class OnDemand {
 public:
  using Clock = std::chrono::steady_clock;
  using Value = std::shared_ptr<const T>;

  // A requested value. For one thread at a time.
  class Asked {
   public:
    // A value that is ready.
    explicit Asked(Value value) : last_(std::move(value)) {}
    // Waits for `next` until `deadline`, then uses `last`.
    Asked(std::shared_future<Value> next, Clock::time_point deadline, Value last)
        : next_(std::move(next)), deadline_(deadline), last_(std::move(last)) {}

    // get() does not wait.
    bool is_ready() const { return !next_.valid() || has_come() || Clock::now() >= deadline_; }
    Value get() const {
      if (!next_.valid()) return last_;
      return next_.wait_until(deadline_) == std::future_status::ready ? next_.get() : last_;
    }

   private:
    bool has_come() const {
      return next_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    }

    std::shared_future<Value> next_;
    Clock::time_point deadline_{};
    Value last_;
  };

  // `keeps`: keeps the last value for requests soon after, or after a timeout.
  explicit OnDemand(bool keeps) : keeps_(keeps) {}

  // Whether a request waits for the next value.
  bool is_wanted() const {
    const std::lock_guard lock(mutex_);
    return waiting_.has_value();
  }
  void publish(Value value) {
    std::unique_lock lock(mutex_);
    std::optional<Waiting> waiting = std::exchange(waiting_, std::nullopt);
    Value before = std::exchange(last_, keeps_ ? value : nullptr);  // freed without the lock
    published_at_ = Clock::now();
    lock.unlock();
    if (waiting) waiting->promise.set_value(std::move(value));
  }
  // The last published value, whatever its age.
  Value last() const {
    const std::lock_guard lock(mutex_);
    return last_;
  }
  // How old a value may be.
  struct Ages {
    Clock::duration fresh;
    // For requests less than `fresh` apart. Up to the age `often` no new value is made; up to
    // `usable` the maker makes one at its next turn, without being woken.
    Clock::duration often, usable;
  };
  // Gives the last value if it is not too old; else wakes the maker and waits up to `patience` for
  // the next one. Without `wake` there is no maker, and it gives the last value.
  Asked ask(const std::function<void()>& wake, Ages ages, Clock::duration patience) {
    std::unique_lock lock(mutex_);
    const Clock::time_point now = Clock::now();
    const Clock::duration age = now - published_at_;
    const bool is_often = now - std::exchange(asked_at_, now) < ages.fresh;
    if (!wake || (last_ && age < (is_often ? ages.often : ages.fresh))) return Asked(last_);
    if (!waiting_) waiting_.emplace();
    if (last_ && is_often && age < ages.usable) return Asked(last_);
    Asked asked(waiting_->next, now + patience, last_);
    lock.unlock();
    wake();
    return asked;
  }

 private:
  struct Waiting {
    std::promise<Value> promise;
    std::shared_future<Value> next = promise.get_future().share();
  };

  const bool keeps_;
  mutable std::mutex mutex_;
  Value last_;
  Clock::time_point published_at_{}, asked_at_{};
  std::optional<Waiting> waiting_;
};

}  // namespace starling::daemon
