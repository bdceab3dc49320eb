// EventLog: the recent events of a node, numbered from 1. It holds the newest kEventsLimit; a slow
// reader notices missing ones by a gap in the numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "gossip/io.h"

namespace starling::daemon {

// "edge_opened"
std::string_view name(gossip::Event::Kind kind);

// How many events of each kind there were, by the number of the kind.
inline constexpr std::size_t kEventKinds =
    static_cast<std::size_t>(gossip::Event::Kind::problem) + 1;
using EventCounts = std::array<std::uint64_t, kEventKinds>;

struct LoggedEvent {
  std::uint64_t sequence = 0;
  double time_s = 0;  // since the start of the process
  std::string at;     // the same moment by the clock of the log: "2026-07-01T12:00:00+0200"
  gossip::Event event;
};

class EventLog {
 public:
  static constexpr std::size_t kEventsLimit = 1000;

  void add(Time now, const gossip::Event& event);
  // The oldest `limit` of those numbered above `sequence`, in order. A `sequence` above all numbers
  // is from an earlier life of the node: then from the oldest.
  std::vector<LoggedEvent> since(std::uint64_t sequence, std::size_t limit = kEventsLimit) const;
  // Since the start, including those no longer in the log.
  const EventCounts& counts() const { return counts_; }

 private:
  std::deque<LoggedEvent> events_;
  std::uint64_t newest_ = 0;
  EventCounts counts_{};
};

}  // namespace starling::daemon
