// Scenario: what goes wrong in one run, and when. A person can read it, write it and cut it short.
//
//   # the first nodes part from the rest while one of them restarts
//   seed 7
//   nodes 16
//   hidden 12
//   nats 3
//   chaos 60 s
//   at 12.5 s: part node-0 node-1 for 20 s
//   at 14 s: crash node-1 for 3 s
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "sim/faults.h"
#include "sim/options.h"

namespace starling::sim {

// When the run ends: after the first of the two; 0: never. Each node leaves so long after it may
// end; nothing: it stays.
struct ScenarioGoal {
  std::uint64_t rounds = 0;
  Duration time{};
  std::optional<Duration> stay = {};

  bool operator==(const ScenarioGoal&) const = default;
};

struct Scenario {
  std::uint64_t seed = 1;
  std::size_t nodes = 16;
  Hiding hiding = {};
  ScenarioGoal goal = {};
  Duration chaos{};                // every fault has ended by then
  std::vector<Fault> faults = {};  // by time

  bool operator==(const Scenario&) const = default;
};

// Each kind of fault is switched on or off and given a rate of its own by the seed, so that seeds
// differ in kind: some know nothing but crashes, some nothing but a bad network. Half of them have
// a goal, which most runs come to amid the chaos and some after it. `sets`: users
// change settings too. REQUIRES nodes, and one that is not hidden.
Scenario draw_scenario(std::uint64_t seed, std::size_t nodes, Duration chaos,
                       const Hiding& hiding = {}, bool sets = false);

std::string to_text(const Scenario& scenario);
// What to_text writes; lines may be empty or begin with #, and faults come in any order. Without
// `chaos` it ends with the last fault. The error says the line, the value seen and those allowed.
Result<Scenario> parse_scenario(std::string_view text);

}  // namespace starling::sim
