#include "gossip/edges/rate_ratio.h"

#include <doctest/doctest.h>

using namespace starling::gossip;

TEST_CASE("Learning rates that differ by a factor of two for long are told from both sides") {
  for (const double ratio : {3.0, 0.25}) {
    RateRatio rates;
    for (int pair = 1; pair <= 30; ++pair) {
      rates.take(ratio * 0.5, 0.5);
      CHECK(rates.lasting() == (pair < 20 ? 1 : ratio));
    }
    rates.take(0.5, 0.5);
    CHECK(rates.lasting() == 1);
  }
}

TEST_CASE("Rates that differ by less or now and then or that nobody tells are equal enough") {
  RateRatio slight, changing, untold;
  for (int pair = 0; pair < 100; ++pair) {
    slight.take(0.9, 0.5);
    changing.take(pair % 2 == 0 ? 3 : 0.3, 1);
    untold.take(0, 1);
    CHECK(slight.lasting() == 1);
    CHECK(changing.lasting() == 1);
    CHECK(untold.lasting() == 1);
  }
}
