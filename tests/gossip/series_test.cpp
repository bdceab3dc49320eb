#include "gossip/report/series.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>

using namespace starling;
using namespace std::chrono_literals;

namespace {

gossip::Progress progress(std::uint64_t round, double distance) {
  gossip::Progress progress;
  progress.round = round;
  progress.distance_to_optimum = distance;
  return progress;
}

}  // namespace

TEST_CASE("A series is the root mean square over the nodes of a round") {
  gossip::Series series;
  series.add(Time(1s), progress(1, 3));
  series.add(Time(2s), progress(1, 4));
  const auto points = series.points();
  REQUIRE(points.size() == 1);
  CHECK(*points[0].distance_to_optimum == doctest::Approx(std::sqrt(12.5)));
  CHECK(points[0].time_s == 2);
  CHECK_FALSE(points[0].accuracy);
}

TEST_CASE("A long series is thinned and keeps its last round") {
  gossip::Series series;
  for (std::uint64_t round = 0; round <= 10'000; ++round)
    series.add(Time{}, progress(round, static_cast<double>(round)));
  CHECK(series.points().size() == 10'001);
  for (std::uint64_t round = 10'001; round <= 25'001; ++round)
    series.add(Time{}, progress(round, static_cast<double>(round)));
  const auto points = series.points();
  CHECK(points.size() == 6252);
  CHECK(points.back().round == 25'001);
  for (const gossip::SeriesPoint& point : points)
    CHECK(*point.distance_to_optimum == doctest::Approx(static_cast<double>(point.round)));
}

TEST_CASE("A series that is thinned keeps what was evaluated") {
  gossip::Series series;
  constexpr std::uint64_t kRounds = 50'001, kEvaluateEvery = 50;
  for (std::uint64_t round = 0; round <= kRounds; ++round)
    for (int node = 0; node < 2; ++node) {
      gossip::Progress point = progress(round, 1);
      if (round % kEvaluateEvery == 0) point.accuracy = node;
      series.add(Time{}, point);
    }
  std::uint64_t expected = 0;
  for (const gossip::SeriesPoint& point : series.points()) {
    if (!point.accuracy) continue;
    CHECK(point.round == expected);
    CHECK(*point.accuracy == 0.5);
    expected += kEvaluateEvery;
  }
  CHECK(expected == 50'050);
}
