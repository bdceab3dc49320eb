#include "gossip/edges/patience.h"

#include <doctest/doctest.h>

#include <vector>

using namespace starling;
using namespace std::chrono_literals;

namespace {

constexpr Duration kLeast = 250ms, kInitial = 3s;

gossip::Patience after(const std::vector<Duration>& intervals) {
  gossip::Patience patience;
  Time now{};
  patience.arrived(now);
  for (Duration interval : intervals) patience.arrived(now += interval);
  return patience;
}

}  // namespace

TEST_CASE("Patience is four medians and four deviations of the arrivals") {
  CHECK(after({1s, 1s, 1s, 1s}).value(kLeast, kInitial) == 4s);
  // Median 2 s; deviations 1, 0, 1: 2/3 s on average.
  const Duration value = after({1s, 2s, 3s}).value(kLeast, kInitial);
  CHECK(seconds(value) == doctest::Approx(4 * 2 + 4 * 2.0 / 3));
}

TEST_CASE("Patience has an initial value and two bounds") {
  CHECK(after({1s, 1s}).value(kLeast, kInitial) == kInitial);
  CHECK(after({1ms, 1ms, 1ms}).value(kLeast, kInitial) == kLeast);
  CHECK(after({1h, 1h, 1h}).value(kLeast, kInitial) == 10min);
}

TEST_CASE("Patience forgets all but the last sixteen arrivals") {
  std::vector<Duration> intervals(20, 1h);
  intervals.insert(intervals.end(), 16, 1s);
  CHECK(after(intervals).value(kLeast, kInitial) == 4s);
}

TEST_CASE("Patience grows with a neighbour that becomes slow") {
  std::vector<Duration> intervals(16, 1s);
  intervals.insert(intervals.end(), 9, 50s);
  CHECK(after(intervals).value(kLeast, kInitial) > 200s);
}

TEST_CASE("Patience remembers the longest silence that ended") {
  std::vector<Duration> intervals(12, 1s);
  intervals.push_back(20s);
  const gossip::Patience patience = after(intervals);
  CHECK(patience.value(kLeast, kInitial) == 30s);
  CHECK(patience.doubt(kLeast, kInitial) < 15s);
}

TEST_CASE("An interval with several rounds in it counts for one round") {
  gossip::Patience patience;
  Time now{};
  patience.arrived(now);
  for (const std::uint64_t rounds : {3U, 5U, 2U, 11U})
    patience.arrived(now += 1s * static_cast<int>(rounds), rounds);
  CHECK(patience.value(kLeast, kInitial) == 4s);
  CHECK(patience.usual() == 1s);
}

TEST_CASE("The shortest recent wait for an answer is what an answer takes") {
  gossip::Patience patience;
  CHECK(patience.answer() == 0s);
  for (const Duration wait : std::vector<Duration>{30ms, 20ms, 5s}) patience.answered(wait);
  CHECK(patience.answer() == 20ms);
  for (int k = 0; k < 16; ++k) patience.answered(2s);
  CHECK(patience.answer() == 2s);
}
