#include "base/utc.h"

#include <doctest/doctest.h>

using namespace starling;

TEST_CASE("A moment is shown by the calendar") {
  CHECK(utc_text(0) == "1970-01-01 00:00 UTC");
  CHECK(utc_text(951'782'399) == "2000-02-28 23:59 UTC");
  CHECK(utc_text(951'782'400) == "2000-02-29 00:00 UTC");
  CHECK(utc_text(1'795'471'680) == "2026-11-23 22:08 UTC");
  CHECK(utc_text(kLatestMoment) == "9999-12-31 23:59 UTC");
  CHECK(utc_text(~0ULL) == "9999-12-31 23:59 UTC");
}
