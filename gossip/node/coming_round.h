// Rounds to come on which nodes agree: to save, to take new settings.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gossip/members/roster.h"
#include "gossip/options.h"

namespace starling::gossip {

// A round of which all nodes know in time what is told now. `own`: this node's round.
std::uint64_t coming_round(const Roster& members, std::uint64_t own, double rounds_per_s,
                           const Timing& timing);
// The furthest round of the members and `own`, but no false one that is far above that.
std::uint64_t furthest_round(const Roster& members, std::uint64_t own);
// A round that some member has ended which does not lie, if `liars` may: with so many other members
// or fewer, that of the one furthest behind; 0: none.
std::uint64_t reached_round(const Roster& members, std::size_t liars);
// The highest round to come that is believed of one member alone: some way above the second highest
// round of the members and `own`. A false record must not set a round that is never reached.
std::uint64_t believable_round(const Roster& members, std::uint64_t own);

}  // namespace starling::gossip
