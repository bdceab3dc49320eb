#include "daemon/process/event_log.h"

#include <algorithm>
#include <ctime>

#include "base/text.h"

namespace starling::daemon {

std::string_view name(gossip::Event::Kind kind) {
  return name_of({"joined", "suspected", "cleared", "died", "left", "edge_opened", "edge_closed",
                  "averaged", "started", "paused", "resumed", "ending", "finished", "saved",
                  "exchange", "data", "settings", "problem"},
                 kind);
}

namespace {

std::string local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%FT%T%z", &local)};
}

}  // namespace

void EventLog::add(Time now, const gossip::Event& event) {
  ++counts_.at(static_cast<std::size_t>(event.kind));
  if (events_.size() >= kEventsLimit) events_.pop_front();
  events_.push_back({++newest_, seconds(now), local_time(), event});
}

std::vector<LoggedEvent> EventLog::since(std::uint64_t sequence, std::size_t limit) const {
  if (sequence > newest_) sequence = 0;
  const auto first = std::ranges::upper_bound(events_, sequence, {}, &LoggedEvent::sequence);
  const auto there = static_cast<std::size_t>(events_.end() - first);
  return {first, first + static_cast<std::ptrdiff_t>(std::min(limit, there))};
}

}  // namespace starling::daemon
