#include "daemon/process/event_log.h"

#include <doctest/doctest.h>

using namespace starling;
using namespace starling::daemon;
using gossip::Event;

namespace {

EventLog log_of(int events) {
  EventLog log;
  for (int k = 1; k <= events; ++k)
    log.add(Time(std::chrono::seconds(k)), {Event::Kind::joined, std::to_string(k)});
  return log;
}

}  // namespace

TEST_CASE("Events are numbered from one and come in order") {
  const auto events = log_of(3).since(0);
  REQUIRE(events.size() == 3);
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(events[k].sequence == k + 1);
    CHECK(events[k].time_s == static_cast<double>(k + 1));
    CHECK(events[k].event.text == std::to_string(k + 1));
  }
}

TEST_CASE("A log goes on where the reader stopped") {
  const EventLog log = log_of(10);
  CHECK(log.since(10).empty());
  CHECK(log.since(7).front().sequence == 8);
  CHECK(log.since(2, 3).size() == 3);
  CHECK(log.since(2, 3).back().sequence == 5);
}

TEST_CASE("A log holds the newest events and drops the oldest") {
  const auto events = log_of(2500).since(0);
  CHECK(events.size() == EventLog::kEventsLimit);
  CHECK(events.front().sequence == 1501);
  CHECK(events.back().sequence == 2500);
}

TEST_CASE("Events that are gone from the log still count") {
  EventLog log = log_of(2500);
  log.add(Time(), {Event::Kind::problem, ""});
  CHECK(log.counts()[static_cast<std::size_t>(Event::Kind::joined)] == 2500);
  CHECK(log.counts()[static_cast<std::size_t>(Event::Kind::problem)] == 1);
  CHECK(log.counts()[static_cast<std::size_t>(Event::Kind::died)] == 0);
}

TEST_CASE("A number of an earlier life starts from the first event") {
  CHECK(log_of(3).since(4).size() == 3);
  CHECK(log_of(0).since(4).empty());
}
