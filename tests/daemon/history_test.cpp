#include "daemon/process/history.h"

#include <doctest/doctest.h>

#include "tests/daemon/snapshot_example.h"

using namespace starling;
using namespace starling::daemon;

namespace {

History history_of(std::uint64_t rounds) {
  History history;
  for (std::uint64_t round = 1; round <= rounds; ++round) history.add(example_point(round));
  return history;
}

}  // namespace

TEST_CASE("A history holds every round up to its limit") {
  const auto points = history_of(History::kPointsLimit).from(0);
  REQUIRE(points.size() == History::kPointsLimit);
  CHECK(points.front().round == 1);
  CHECK(points.back().round == History::kPointsLimit);
}

TEST_CASE("A longer history is thinned evenly and keeps its newest round") {
  const auto points = history_of(54'321).from(0);
  REQUIRE(points.size() > History::kPointsLimit / 2);
  CHECK(points.size() <= History::kPointsLimit + 1);
  CHECK(points.back().round == 54'321);
  const std::uint64_t stride = points[1].round - points[0].round;
  for (std::size_t k = 1; k + 1 < points.size(); ++k)
    REQUIRE(points[k].round - points[k - 1].round == stride);
}

TEST_CASE("A history that is thinned keeps what was evaluated") {
  History history;
  for (std::uint64_t round = 1; round <= 54'321; ++round) {
    gossip::Progress point = example_point(round);
    if (round % 50 != 0) point.accuracy = point.rmse = point.evaluation_loss = std::nullopt;
    history.add(point);
  }
  std::uint64_t evaluated = 0;
  for (const gossip::Progress& point : history.from(0)) evaluated += point.accuracy ? 1 : 0;
  CHECK(evaluated == 54'321 / 50);
}

TEST_CASE("A history since a round begins above it") {
  const History history = history_of(100);
  CHECK(history.from(91).size() == 10);
  CHECK(history.from(91).front().round == 91);
  CHECK(history.from(101).empty());
  CHECK(History().from(0).empty());
}
