// How fast vectors come over a link.
#include "gossip/wire/link_meter.h"

#include <doctest/doctest.h>

#include <chrono>

using namespace starling;
using namespace std::chrono_literals;
using gossip::LinkMeter;

TEST_CASE("The rate of a link is bytes over time") {
  LinkMeter meter;
  CHECK(meter.rate() == 0);
  for (int k = 0; k < 40; ++k) meter.came(1'000'000, 100ms);
  CHECK(meter.rate() == doctest::Approx(1e7));
  CHECK(meter.transit() == 100ms);
  for (int k = 0; k < 40; ++k) meter.came(1'000'000, 50ms);
  CHECK(meter.rate() == doctest::Approx(2e7).epsilon(1e-3));
}

TEST_CASE("A vector that seems to take no time does not make a link fast") {
  LinkMeter meter;
  for (int k = 0; k < 40; ++k) meter.came(1'000'000, k % 4 == 0 ? Duration(-1ms) : Duration(100ms));
  CHECK(meter.rate() < 2e7);
}
