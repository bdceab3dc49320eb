#include "base/thinned.h"

#include <doctest/doctest.h>

using namespace starling;

namespace {

struct Point {
  std::uint64_t round = 0;
  std::optional<double> accuracy = {};

  bool is_evaluated() const { return accuracy.has_value(); }
};
using Points = Thinned<Point>;

Points points_until(std::uint64_t rounds, std::uint64_t evaluate_every) {
  Points points;
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    const bool is_evaluated = round % evaluate_every == 0;
    points.add(round, is_evaluated, [&](Point& point) {
      if (is_evaluated) point.accuracy = 0.5;
    });
  }
  return points;
}

}  // namespace

TEST_CASE("A thinned series holds every round up to its limit") {
  const auto points = points_until(Points::kPointsLimit, 1).points();
  REQUIRE(points.size() == Points::kPointsLimit);
  CHECK(points.front().round == 1);
  CHECK(points.back().round == Points::kPointsLimit);
  CHECK(Points().points().empty());
}

TEST_CASE("A longer series is thinned evenly and keeps its newest round") {
  const auto points = points_until(54'321, 1).points();
  REQUIRE(points.size() > Points::kPointsLimit / 2);
  CHECK(points.size() <= Points::kPointsLimit + 1);
  CHECK(points.back().round == 54'321);
  const std::uint64_t stride = points[1].round - points[0].round;
  for (std::size_t k = 1; k + 1 < points.size(); ++k)
    REQUIRE(points[k].round - points[k - 1].round == stride);
}

TEST_CASE("A series that is thinned keeps every evaluation that it has room for") {
  std::uint64_t evaluated = 0;
  for (const Point& point : points_until(54'321, 50).points()) evaluated += point.is_evaluated();
  CHECK(evaluated == 54'321 / 50);
}

TEST_CASE("Reports of a round that come late are written to its point") {
  Points points;
  for (const std::uint64_t round : {1, 3, 2, 3}) {
    points.add(round, true, [](Point& point) { point.accuracy = point.accuracy.value_or(0) + 1; });
  }
  std::vector<std::uint64_t> rounds;
  for (const Point& point : points.points()) rounds.push_back(point.round);
  CHECK(rounds == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(points.points().back().accuracy == 2);
}

TEST_CASE("The points from a round on begin with it") {
  const Points points = points_until(100, 1);
  CHECK(points.points(91).size() == 10);
  CHECK(points.points(91).front().round == 91);
  CHECK(points.points(101).empty());
}
