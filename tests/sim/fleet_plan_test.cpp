// The file of a fleet that does not exist yet.
#include "sim/fleet_plan.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace starling;
using namespace std::chrono_literals;

namespace {

constexpr char kPlan[] = R"(# Two regions.
model 1GB
step 1.2s
region home 5 machines 100mbit/500mbit

region lab 3 machines 1gbit slower 1.5   # old ones
link home lab 40ms shared 50mbit
link lab lab 4ms 200mbit
churn 6 a day for 20m
set optim.local-steps=100
published 83%
)";

std::string error_of(const std::string& text) {
  const auto plan = sim::parse_fleet_plan(text);
  REQUIRE_FALSE(plan.has_value());
  return plan.error().text;
}

}  // namespace

TEST_CASE("A plan has the machines in the order of its regions and what lies between them") {
  const auto plan = sim::parse_fleet_plan(kPlan);
  REQUIRE(plan.has_value());
  CHECK(plan->machines() == 8);
  CHECK(plan->model_bytes == 1e9);
  CHECK(plan->step_s == 1.2);
  CHECK(plan->slowness(4) == 1);
  CHECK(plan->slowness(5) == 1.5);
  CHECK(plan->deaths_a_day == 6);
  CHECK(plan->away_s == 1200);
  CHECK(plan->published == 0.83);
  CHECK(plan->settings.front().second == "100");
  CHECK(plan->thinnest().first == 50e6 / 8);
  CHECK(plan->thinnest().second == "home and lab");

  const auto map = sim::geography_of(*plan);
  CHECK(map->region_of(7) == "lab");
  CHECK(map->places[0].up / map->places[0].down == doctest::Approx(0.2));
  CHECK(map->way(0, 7).delay == 20ms);
  CHECK(map->way(7, 0).shared == map->way(0, 7).shared);
  CHECK(map->way(0, 1).delay == 1ms);
  CHECK(map->way(5, 6).delay == 2ms);
  CHECK(map->way(5, 6).each > 0);
  const auto faster = sim::geography_of(*plan, 10);
  CHECK(faster->way(0, 7).delay == 2ms);
  CHECK(faster->places[0].up == doctest::Approx(10 * map->places[0].up));
}

TEST_CASE("A plan that says no fleet is refused with its line and what is expected") {
  const std::string two = "region a 1 machines 1gbit\nregion b 1 machines 1gbit\n";
  CHECK(error_of(two + "link a c 10ms") == "link a c: there is no region c; expected one of a, b");
  CHECK(error_of(two) == "expected \"link a b ROUND-TRIP\": every two regions have a link");
  CHECK(error_of("region a 2 machines 0bit") == "line 1: \"0bit\": expected 8bit to 1000GB");
  CHECK(
      error_of("\nregion a 2 machines fast").find("line 2: \"fast\": expected a number and bit") ==
      0);
  CHECK(error_of("region a 0 machines 1gbit") ==
        "line 1: \"0\": expected a whole number from 1 to 1024");
  CHECK(error_of("region a 1 machines 1gbit") ==
        "expected regions with 2 to 1024 machines in all, found 1");
  CHECK(error_of("region a 2 machines 1gbit\nregion a 2 machines 1gbit") ==
        "line 2: region a is there twice");
  CHECK(error_of("region a 2.5 machines 1gbit") ==
        "line 1: \"2.5\": expected a whole number from 1 to 1024");
  CHECK(error_of(two + "link a b 1ms\nlink b a 2ms") == "line 4: link b a is there twice");
  CHECK(error_of("machines 3").find("line 1: \"machines 3\": expected model SIZE") == 0);
  CHECK(error_of("churn 3 a week").find("expected \"churn N a day for TIME\"") !=
        std::string::npos);
  CHECK(error_of("set optim.local-steps 3").find("expected \"set KEY=VALUE\"") !=
        std::string::npos);
  CHECK(error_of("published 120%").find("expected a number from 0 to 100") != std::string::npos);
  CHECK(error_of("model 3 GB").find("expected model SIZE") != std::string::npos);
  CHECK(error_of("step 2d").find("expected a time from") != std::string::npos);
}

TEST_CASE("A plan may have tabs and the line ends of other systems") {
  const auto plan = sim::parse_fleet_plan("region\ta  2 machines\t1gbit \r\n\r\nmodel 1GB\r\n");
  REQUIRE(plan.has_value());
  CHECK(plan->machines() == 2);
  CHECK(plan->model_bytes == 1e9);
}
