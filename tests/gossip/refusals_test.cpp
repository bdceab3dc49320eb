#include "gossip/edges/refusals.h"

#include <doctest/doctest.h>

#include <vector>

using namespace starling;
using namespace starling::gossip;

namespace {

// Of the pauses after so many vectors.
std::vector<double> pauses_of(Refusals& refusals, int vectors, bool is_refused) {
  std::vector<double> pauses;
  for (int k = 0; k < vectors; ++k) {
    refusals.take();
    if (is_refused) refusals.refuse("not finite");
    if (const auto pause = refusals.take_pause()) pauses.push_back(seconds(*pause));
  }
  return pauses;
}

}  // namespace

TEST_CASE("Sixteen refusals in a row close an edge and two after a pause do so for twice as long") {
  Refusals refusals;
  CHECK(pauses_of(refusals, 15, true).empty());
  CHECK(pauses_of(refusals, 1, true) == std::vector<double>{8});
  CHECK(pauses_of(refusals, 4, true) == std::vector<double>{16, 32});
  CHECK(pauses_of(refusals, 12, true).back() == 600);
  CHECK(refusals.reason() == "not finite");
}

TEST_CASE("Vectors without a refusal end the history of an edge") {
  Refusals refusals;
  pauses_of(refusals, 18, true);
  CHECK(pauses_of(refusals, 16, false).empty());
  CHECK(refusals.reason().empty());
  CHECK(pauses_of(refusals, 15, true).empty());
  CHECK(pauses_of(refusals, 1, true) == std::vector<double>{8});
}

TEST_CASE("Refusals with many other vectors in between close no edge") {
  Refusals refusals;
  for (int k = 0; k < 100; ++k) {
    CHECK(pauses_of(refusals, 1, true).empty());
    CHECK(pauses_of(refusals, Refusals::kUnderWay, false).empty());
  }
}

TEST_CASE("Refusals of vectors that were under way together are in a row") {
  Refusals refusals;
  for (int k = 0; k < Refusals::kMost; k += 2) {
    refusals.take();
    refusals.take();
    refusals.refuse("size");
    refusals.refuse("size");
  }
  CHECK(refusals.take_pause() == Refusals::kFirstPause);
  CHECK_FALSE(refusals.take_pause());
}
