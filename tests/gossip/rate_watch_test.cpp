#include "gossip/node/rate_watch.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

using namespace starling;
using namespace starling::gossip;
using namespace std::chrono_literals;

namespace {

// What a node of that rate says after so long.
std::string said(double own, const Spread& all, Duration later) {
  RateWatch watch;
  for (Duration at{}; at <= later; at += 1s) watch.look(Time{at}, own, all);
  return watch.warning(Time{later});
}

}  // namespace

TEST_CASE("A node whose learning rate is far from the others for long says so and they do not") {
  const Spread all{.mean = 1.2e-4, .least = 1e-4, .most = 3e-4, .mean_then = 1.25e-4};
  CHECK(said(3e-4, all, 20s)
            .starts_with("steps at a learning rate of 0.0003, where those of all nodes go from "
                         "0.0001 to 0.0003"));
  CHECK(said(3e-4, all, 10s).empty());
  CHECK(said(1e-4, all, 20s).empty());
}

TEST_CASE("Of two nodes with unequal learning rates both say so") {
  const Spread all{.mean = 2e-4, .least = 1e-4, .most = 3e-4};
  CHECK_FALSE(said(3e-4, all, 20s).empty());
  CHECK_FALSE(said(1e-4, all, 20s).empty());
}

TEST_CASE("Learning rates that differ by less than a factor of two are equal enough") {
  CHECK(said(1.9e-4, {.mean = 1.1e-4, .least = 1e-4, .most = 1.9e-4}, 60s).empty());
  CHECK(said(0, {.mean = 1e-4, .least = 0, .most = 2e-4}, 60s).empty());
  CHECK(said(1e-4, {.mean = 1e-4}, 60s).empty());
}
