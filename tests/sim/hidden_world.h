// Worlds of nodes that nobody can dial, for the tests of such nodes and of the relays among them.
#pragma once

#include <string_view>

#include "sim/options.h"
#include "tests/sim/legal_ways.h"

namespace starling::test {

// How far from the optimum an exact algorithm ends.
inline constexpr double kExactDistance = 1e-10;

optim::Options training_of(const LegalWay& way);
// The way of the algorithm with its usual schedule.
LegalWay way_of(std::string_view algorithm, topology::Kind kind = topology::Kind::automatic);
// Whether the nodes end in the optimum of all.
bool reaches_optimum(const LegalWay& way);
// Rounds take 50 ms and messages 5 to 10 ms.
sim::Options hidden_world(const LegalWay& way, std::size_t nodes, const sim::Hiding& hiding,
                          std::uint64_t seed);

}  // namespace starling::test
