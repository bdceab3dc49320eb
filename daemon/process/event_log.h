// EventLog: what happened to a node lately, numbered from 1. It holds the newest kEventsLimit; who
// reads too slowly finds the oldest gone and sees that by a gap in the numbers.
#pragma once

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
  // The oldest `limit` of those numbered above `sequence`, in order. A number that was never given
  // comes from an earlier life of the node: then from the first that is left.
  std::vector<LoggedEvent> since(std::uint64_t sequence, std::size_t limit = kEventsLimit) const;

 private:
  std::deque<LoggedEvent> events_;
  std::uint64_t newest_ = 0;
};

}  // namespace starling::daemon
