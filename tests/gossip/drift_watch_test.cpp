#include "gossip/node/drift_watch.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string>

using namespace starling;
using namespace starling::gossip;

namespace {

// What is said after a thousand rounds of that distance.
std::string said(const std::function<double(double round)>& distance) {
  DriftWatch watch;
  for (std::uint64_t round = 1; round <= 1000; ++round)
    watch.look(round, distance(static_cast<double>(round)));
  return watch.warning();
}

}  // namespace

TEST_CASE("Models that drift apart round after round are told") {
  const std::string text = said([](double round) { return 0.2 * std::exp(round / 300); });
  CHECK(text.find("drifts away from the others'") != std::string::npos);
  CHECK(text.find("optim.algorithm = ed allows a larger one than gt") != std::string::npos);
}

TEST_CASE("Models that come apart from a common beginning and stay near do not drift") {
  CHECK(said([](double round) { return 0.4 * (1 - std::exp(-round / 300)); }).empty());
  CHECK(said([](double) { return 3.0; }).empty());
  CHECK(said([](double round) { return 100 * std::exp(-round / 300); }).empty());
}
