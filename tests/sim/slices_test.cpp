// Schedule `allreduce`: what slices give is what whole vectors give on a complete graph, for every
// algorithm that allows it, and the bytes are fewer.
#include <doctest/doctest.h>

#include <vector>

#include "tests/sim/legal_ways.h"
#include "tests/sim/sliced_run.h"

using namespace starling;
using namespace starling::test;

TEST_CASE("Slices average as whole vectors do on a complete graph by every algorithm") {
  for (const LegalWay& way : legal_ways()) {
    if (!way.schedule->is_in_slices) continue;
    CAPTURE(way.name);
    LegalWay whole = way;
    whole.schedule = gossip::schedule_named("rounds");
    const Models of_slices = result_of({.way = way}).models;
    CHECK(largest_difference(of_slices, result_of({.way = whole}).models) < 1e-12);
  }
}

// Each sends the parts of all others and the mean of its own slice, each with a word of 8 bytes.
TEST_CASE("A round of slices sends two vectors less two shares") {
  constexpr std::size_t kNumbers = 300;
  const std::size_t numbers = 2 * (kSlicedNodes - 1) * kNumbers;  // of all nodes
  const std::size_t messages = 2 * kSlicedNodes * (kSlicedNodes - 1);
  CHECK(result_of({.numbers = kNumbers}).bytes == kSlicedRounds * 8 * (numbers + messages));
}

TEST_CASE("Models are equal after every round of slices though data differ") {
  const Models last = result_of({}).models;
  for (const std::vector<double>& model : last)
    for (std::size_t k = 0; k < model.size(); ++k)
      CHECK(model[k] == doctest::Approx(last.front()[k]).epsilon(1e-14));
}
