#include "daemon/attach/step_watch.h"

#include <doctest/doctest.h>

using namespace starling;
using namespace starling::daemon;
using namespace std::chrono_literals;

namespace {

// A trainer that counts a step every so often, looked at every half second.
struct Steps {
  void take(int count, Duration each) {
    for (int k = 0; k < count; ++k) {
      const Time until = now + each;
      for (; now + 500ms < until; now += 500ms) watch.look(now, progress);
      now = until;
      watch.look(now, ++progress);
    }
  }

  StepWatch watch;
  Time now{1h};
  std::uint64_t progress = 0;
};

}  // namespace

TEST_CASE("A trainer that counts nothing for longer than its steps took stands still") {
  Steps steps;
  steps.watch.begin(steps.now, 0);
  steps.take(20, 100ms);
  CHECK(steps.watch.patience() == 10s);
  CHECK_FALSE(steps.watch.standstill(steps.now + 10s));
  REQUIRE(steps.watch.standstill(steps.now + 11s));
  CHECK(*steps.watch.standstill(steps.now + 11s) == 11s);
  steps.now += 11s;
  steps.take(1, 100ms);
  CHECK_FALSE(steps.watch.standstill(steps.now + 1s));
}

TEST_CASE("Long steps are waited for longer") {
  Steps steps;
  steps.watch.begin(steps.now, 0);
  steps.take(100, 8s);
  CHECK(steps.watch.patience() > 31s);
  CHECK(steps.watch.patience() < 40s);
  CHECK_FALSE(steps.watch.standstill(steps.now + 31s));
  CHECK(steps.watch.standstill(steps.now + 40s));
}

TEST_CASE("Many steps between two looks count as so many short ones") {
  StepWatch watch;
  watch.begin(Time(1h), 0);
  watch.look(Time(1h) + 60s, 600);
  CHECK(watch.patience() == 10s);
}

TEST_CASE("A trainer that counts no first step stands still after ten seconds") {
  StepWatch watch;
  watch.begin(Time(1h), 0);
  CHECK_FALSE(watch.standstill(Time(1h) + 10s));
  CHECK(watch.standstill(Time(1h) + 12s) == 12s);
  CHECK_FALSE(watch.has_counted());
  watch.look(Time(1h) + 12s, 1);
  CHECK_FALSE(watch.standstill(Time(1h) + 13s));
}

TEST_CASE("Nobody stands still between two jobs") {
  StepWatch watch;
  CHECK_FALSE(watch.standstill(Time(9h)));
  watch.begin(Time(1h), 0);
  watch.look(Time(1h) + 1s, 1);
  CHECK(watch.standstill(Time(9h)));
  watch.end(Time(9h));
  CHECK_FALSE(watch.standstill(Time(9h)));
}

TEST_CASE("A job of a trainer that counts nothing counts as a step") {
  StepWatch watch;
  watch.begin(Time(1h), 7);
  watch.end(Time(1h) + 60s);
  watch.begin(Time(1h) + 60s, 7);
  CHECK(watch.patience() > 60s);
  CHECK_FALSE(watch.standstill(Time(1h) + 120s));
}

TEST_CASE("A trainer is silent soon where its steps are short and later where they are long") {
  Steps quick, slow;
  for (Steps* steps : {&quick, &slow}) steps->watch.begin(steps->now, 0);
  quick.take(20, 100ms);
  slow.take(100, 8s);
  CHECK_FALSE(quick.watch.is_silent(quick.now + 2s));
  CHECK(quick.watch.is_silent(quick.now + 2100ms));
  CHECK_FALSE(slow.watch.is_silent(slow.now + 31s));
  CHECK(slow.watch.is_silent(slow.now + 40s));
  quick.watch.end(quick.now);
  CHECK_FALSE(quick.watch.is_silent(quick.now + 60s));
  StepWatch first;
  first.begin(Time(1h), 0);
  CHECK(first.is_silent(Time(1h) + 3s));
}
