// The phases of a node: the table of transitions, in the code and in the documentation.
#include "gossip/node/life.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace starling;
using namespace starling::gossip;

namespace {

template <std::size_t... K>
std::vector<LifePhase> all_phases(std::index_sequence<K...>) {
  return {LifePhase(std::in_place_index<K>)...};
}
const std::vector<LifePhase> kPhases =
    all_phases(std::make_index_sequence<std::variant_size_v<LifePhase>>());

// A life in the phase, over any way that the table allows.
Life life_in(std::size_t phase) {
  std::vector<std::vector<std::size_t>> ways = {{0}};
  for (std::size_t k = 0; k < ways.size(); ++k) {
    const std::vector<std::size_t> way = ways[k];
    if (way.back() == phase) {
      Life life(Time{});
      for (std::size_t step = 1; step < way.size(); ++step) life.enter(Time{}, kPhases[way[step]]);
      return life;
    }
    for (const std::size_t next : phase_rows()[way.back()].after)
      if (std::ranges::find(way, next) == way.end()) {
        ways.push_back(way);
        ways.back().push_back(next);
      }
  }
  FAIL("no way leads to phase ", phase);
  return Life(Time{});
}

}  // namespace

TEST_CASE("Every phase can be reached and only what the table says may follow it") {
  REQUIRE(phase_rows().size() == kPhases.size());
  for (std::size_t phase = 0; phase < kPhases.size(); ++phase) {
    const Life life = life_in(phase);
    CHECK(life.row().name == phase_rows()[phase].name);
    for (std::size_t next = 0; next < kPhases.size(); ++next) {
      const bool is_listed = std::ranges::count(phase_rows()[phase].after, next) > 0;
      CHECK(life.may_enter(kPhases[next]) == is_listed);
    }
  }
}

TEST_CASE("A node that has begun to train never goes back to a phase before that") {
  for (std::size_t phase = 0; phase < kPhases.size(); ++phase)
    for (const std::size_t next : phase_rows()[phase].after)
      if (life_in(phase).has_come_to<phases::Computing>())
        CHECK(life_in(next).has_come_to<phases::Computing>());
  CHECK(phase_rows().back().after.empty());
}

TEST_CASE("An errand is run only while the training rests and holds the phase until its end") {
  for (std::size_t phase = 0; phase < kPhases.size(); ++phase) {
    Life life = life_in(phase);
    CHECK(life.is_free() == phase_rows()[phase].may_run_errands);
    if (!life.is_free()) continue;
    life.run(Errand::copy);
    CHECK_FALSE(life.is_free());
    for (const LifePhase& next : kPhases) CHECK_FALSE(life.may_enter(next));
    CHECK(life.end_errand() == Errand::copy);
    CHECK(life.is_free());
    CHECK(life.end_errand() == Errand::none);
  }
}

TEST_CASE("The table of phases in the documentation is that of the code") {
  std::set<std::string> expected, found;
  for (const PhaseRow& row : phase_rows()) {
    std::vector<std::string> after;
    for (const std::size_t next : row.after) after.emplace_back(phase_rows()[next].name);
    expected.insert(fmt::format("| `{}` | {} | {} |", row.name, name(row.told),
                                after.empty() ? "–" : fmt::format("{}", fmt::join(after, ", "))));
  }
  std::ifstream page(std::string(STARLING_ROOT) + "/docs/architecture.md");
  for (std::string line; std::getline(page, line);)
    for (const std::string& row : expected)
      if (line.starts_with(row)) found.insert(row);
  CHECK(found == expected);
}
