#include "sim/scenario.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace starling;
using namespace std::chrono_literals;

namespace {

std::string error_of(std::string_view text) {
  const auto scenario = sim::parse_scenario(text);
  return scenario ? "" : scenario.error().text;
}

}  // namespace

TEST_CASE("What is printed of a scenario reads as the same scenario") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    const sim::Scenario drawn = sim::draw_scenario(seed, 16, 480s);
    const auto read = sim::parse_scenario(sim::to_text(drawn));
    REQUIRE(read);
    CHECK(sim::to_text(*read) == sim::to_text(drawn));
    CHECK(*read == drawn);
  }
}

TEST_CASE("A fault reads as a sentence") {
  const auto scenario = sim::parse_scenario(
      "# a comment\nseed 7\nnodes 8\n\nat 14 s: slow node-3 2.5 for 1 s\n"
      "at 12.5 s: pause node-3 for 4 s\n");
  REQUIRE(scenario);
  CHECK(scenario->seed == 7);
  CHECK(scenario->nodes == 8);
  CHECK(scenario->chaos == 16500ms);
  REQUIRE(scenario->faults.size() == 2);
  CHECK(scenario->faults[0].kind == sim::FaultKind::pause);
  CHECK(scenario->faults[0].at == 12500ms);
  CHECK(scenario->faults[0].duration == 4s);
  CHECK(sim::to_text(scenario->faults[1]) == "at 14 s: slow node-3 2.5 for 1 s");
}

TEST_CASE("A scenario says when the run ends and when nodes leave after it") {
  const auto scenario = sim::parse_scenario("chaos 5 s\ngoal 200 rounds\nstay 1.5 s\n");
  REQUIRE(scenario);
  CHECK(scenario->goal == sim::ScenarioGoal{.rounds = 200, .stay = 1500ms});
  CHECK(sim::parse_scenario("goal 60 s\n")->goal == sim::ScenarioGoal{.time = 60s});
}

TEST_CASE("A wrong line is reported with its number and the value and the values allowed") {
  CHECK(error_of("seed 1\nat 3 s: explode node-1 for 2 s") ==
        "line 2: fault \"explode\": expected one of lose, duplicate, reorder, spike, drop, "
        "limit, clog, cut, part, pause, slow, crash, wipe, rewind, leave, join, corrupt, "
        "forge, halt, nat-reboot, away, narrow, hasten, set");
  CHECK(error_of("nodes 4\nat 3 s: crash node-4 for 2 s") ==
        "line 2: \"node-4\": expected a name from node-0 to node-3");
  CHECK(error_of("at 3 s: lose 1.5 for 2 s") ==
        "line 1: lose = \"1.5\": expected a number from 0 to 1");
  CHECK(error_of("at 3 s: cut node-1 for 2 s") == "line 1: cut names 1 nodes: expected 2");
  CHECK(error_of("at 3 s: crash node-1 for 2 minutes") == "line 1: \"minutes\": expected \"s\"");
  CHECK(error_of("at 3 s: crash node-1 for 2 s now") ==
        "line 1: \"now\": expected the end of the line");
  CHECK(error_of("at x s: crash node-1 for 2 s") ==
        "line 1: time = \"x\": expected a number from 0 to 1000000");
  CHECK(error_of("crash node-1") ==
        "line 1: \"crash node-1\": expected \"at SECONDS s: FAULT ...\"");
  CHECK(error_of("nodes 0") == "line 1: nodes = \"0\": expected a whole number from 1 to 4096");
  CHECK(error_of("chaos 5") ==
        "line 1: chaos = \"5\": expected a number from 0 to 1000000 and \"s\"");
  CHECK(error_of("goal 0 rounds") ==
        "line 1: goal = \"0\": expected a whole number from 1 to 1000000000");
  CHECK(error_of("goal soon") ==
        "line 1: goal = \"soon\": expected a number from 0 to 1000000 and \"s\"");
  CHECK(error_of("chaos 5 s\nat 4 s: crash node-1 for 2 s") ==
        "a fault ends at 6 s: expected at most chaos, 5 s");
}

TEST_CASE("Seeds differ in the kinds of their faults") {
  std::set<std::set<sim::FaultKind>> mixtures;
  std::set<sim::FaultKind> all;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    std::set<sim::FaultKind> kinds;
    const sim::Scenario scenario = sim::draw_scenario(seed, 16, 480s, {}, true);
    for (const sim::Fault& fault : scenario.faults) {
      kinds.insert(fault.kind);
      CHECK(fault.at + fault.duration <= scenario.chaos);
    }
    all.insert(kinds.begin(), kinds.end());
    mixtures.insert(kinds);
  }
  CHECK(all.size() == static_cast<std::size_t>(std::ranges::count_if(
                          sim::fault_rules(), [](const auto& rule) { return !rule.of_hidden; })));
  CHECK(mixtures.size() > 80);
}
