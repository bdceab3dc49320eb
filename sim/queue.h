// Queue: what is to happen, in order of time and, at one instant, in the order it was decided.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/time.h"

namespace starling::sim {

template <class Event>
class Queue {
 public:
  void push(Time at, Event event) {
    std::size_t slot = events_.size();
    if (free_.empty()) {
      events_.push_back(std::move(event));
    } else {
      slot = free_.back();
      free_.pop_back();
      events_[slot] = std::move(event);
    }
    heap_.push_back({at, ++sequence_, slot});
    std::ranges::push_heap(heap_, later);
  }
  bool empty() const { return heap_.empty(); }
  // kNever when nothing is left.
  Time next_time() const { return heap_.empty() ? kNever : heap_.front().at; }
  // The time of the last event, or that to which was waited.
  const Time& now() const { return now_; }
  // REQUIRES that no event is left before `time`.
  void wait_until(Time time) { now_ = std::max(now_, time); }
  // REQUIRES that something is left.
  Event pop() {
    ENSURE(!heap_.empty(), "an empty queue has no next event");
    std::ranges::pop_heap(heap_, later);
    const Entry entry = heap_.back();
    heap_.pop_back();
    free_.push_back(entry.slot);
    now_ = entry.at;
    return std::move(events_[entry.slot]);
  }

 private:
  struct Entry {
    Time at;
    std::uint64_t sequence;
    std::size_t slot;  // of the event, which stays where it is while the heap is sorted
  };
  static bool later(const Entry& a, const Entry& b) {
    return a.at != b.at ? a.at > b.at : a.sequence > b.sequence;
  }

  std::vector<Entry> heap_;  // the next event in front
  std::vector<Event> events_;
  std::vector<std::size_t> free_;
  std::uint64_t sequence_ = 0;
  Time now_{};
};

}  // namespace starling::sim
