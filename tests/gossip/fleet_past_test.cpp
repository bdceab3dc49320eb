// What the means over the fleet were, and which way the loss goes.
#include "gossip/node/fleet_past.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>

#include "base/prng.h"

using namespace starling;
using namespace starling::gossip;
using namespace std::chrono_literals;

namespace {

FleetStatus with_loss(double mean) {
  FleetStatus fleet;
  fleet.spreads[static_cast<std::size_t>(Quantity::loss)] = Spread{.mean = mean};
  return fleet;
}

}  // namespace

TEST_CASE("A loss that falls under the noise of batches is said to fall and never to rise") {
  FleetPast past;
  Prng prng(7);
  int falling = 0;
  for (int k = 0; k < 600; ++k) {
    const double noise = 0.1 * (prng.uniform() - 0.5);
    past.add(Time(k * 500ms), with_loss(std::exp(-k / 300.0) * (1 + noise)));
    const auto change = past.loss_change();
    if (k < 60) continue;
    REQUIRE(change.has_value());
    CHECK(*change <= 0);
    falling += *change < 0;
  }
  CHECK(falling == 540);
}

TEST_CASE("Noise around one level is no trend") {
  FleetPast past;
  Prng prng(8);
  int level = 0;
  for (int k = 0; k < 600; ++k) {
    past.add(Time(k * 500ms), with_loss(1 + 0.2 * (prng.uniform() - 0.5)));
    level += past.loss_change() == 0;
  }
  CHECK(level > 590);
}

TEST_CASE("A mean of some time ago is the oldest that is no older") {
  FleetPast past;
  CHECK_FALSE(past.mean_at(Quantity::loss, Time(0s)).has_value());
  for (int k = 1; k <= 300; ++k) past.add(Time(k * 1s), with_loss(k));
  CHECK(past.mean_at(Quantity::loss, Time(290s)) == 290);
  CHECK(past.mean_at(Quantity::loss, Time(290s + 1ms)) == 291);
  CHECK(past.mean_at(Quantity::loss, Time(1s)) == 45);
  CHECK_FALSE(past.mean_at(Quantity::loss, Time(301s)).has_value());
  CHECK_FALSE(past.mean_at(Quantity::accuracy, Time(290s)).has_value());
}
