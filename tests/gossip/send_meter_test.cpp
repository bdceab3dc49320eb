#include "gossip/wire/send_meter.h"

#include <doctest/doctest.h>

#include <chrono>

using namespace starling;
using namespace starling::gossip;
using namespace std::chrono_literals;

TEST_CASE("Bytes that leave evenly have a peak like their mean") {
  SendMeter meter;
  std::uint64_t sent = 0;
  for (Time now{}; now < Time(60s); now += 50ms) meter.add(now, sent += 1000);
  CHECK(meter.mean() == doctest::Approx(20'000).epsilon(.02));
  CHECK(meter.most() == doctest::Approx(20'000));
}

TEST_CASE("A burst is the peak until it is sixteen seconds old") {
  SendMeter meter;
  meter.add(Time(5s), 0);
  meter.add(Time(9s), 1'000'000);
  CHECK(meter.most() == doctest::Approx(4'000'000));
  meter.add(Time(20s), 1'000'000);
  CHECK(meter.most() == doctest::Approx(4'000'000));
  CHECK(meter.mean() == doctest::Approx(1'000'000 / 15.25));
  meter.add(Time(26s), 1'000'000);
  CHECK(meter.most() == 0);
  meter.add(Time(100'000s), 1'000'250);
  CHECK(meter.most() == doctest::Approx(1000));
}

TEST_CASE("Nothing was sent before anything is told") {
  const SendMeter meter;
  CHECK(meter.most() == 0);
}
