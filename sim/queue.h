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
    heap_.push_back({at, ++sequence_, std::move(event)});
    std::ranges::push_heap(heap_, later);
  }
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  // kNever when nothing is left.
  Time next_time() const { return heap_.empty() ? kNever : heap_.front().at; }
  // REQUIRES that something is left.
  std::pair<Time, Event> pop() {
    ENSURE(!heap_.empty(), "an empty queue has no next event");
    std::ranges::pop_heap(heap_, later);
    Entry entry = std::move(heap_.back());
    heap_.pop_back();
    return {entry.at, std::move(entry.event)};
  }

 private:
  struct Entry {
    Time at;
    std::uint64_t sequence;
    Event event;
  };
  static bool later(const Entry& a, const Entry& b) {
    return std::pair(a.at, a.sequence) > std::pair(b.at, b.sequence);
  }

  std::vector<Entry> heap_;  // the next event in front
  std::uint64_t sequence_ = 0;
};

}  // namespace starling::sim
