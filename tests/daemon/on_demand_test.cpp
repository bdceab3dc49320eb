#include "daemon/process/on_demand.h"

#include <doctest/doctest.h>

using namespace starling::daemon;
using namespace std::chrono_literals;

namespace {

std::shared_ptr<const int> number(int value) {
  return std::make_shared<const int>(value);
}

}  // namespace

TEST_CASE("Who asks often gets a usable value at once and another is made without a wake-up") {
  OnDemand<int> numbers(true);
  int woken = 0;
  const auto wake = [&] { ++woken; };
  const auto ask = [&](auto fresh, auto often, auto usable) {
    return numbers.ask(wake, {.fresh = fresh, .often = often, .usable = usable}, 1h);
  };
  numbers.publish(number(1));
  CHECK(*ask(1h, 1h, 1h).get() == 1);
  CHECK_FALSE(numbers.is_wanted());
  CHECK(*ask(1h, 0s, 1h).get() == 1);
  CHECK(numbers.is_wanted());
  CHECK(woken == 0);
  // Too old, at once or because it is the first request for a while.
  const auto often = ask(1h, 0s, 0s), alone = ask(0s, 1h, 1h);
  CHECK_FALSE(often.is_ready());
  CHECK_FALSE(alone.is_ready());
  CHECK(woken == 2);
  numbers.publish(number(2));
  CHECK(*often.get() == 2);
  CHECK(*alone.get() == 2);
  CHECK_FALSE(numbers.is_wanted());
}
