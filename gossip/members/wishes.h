// The combined wish of the members for local steps. Of three wishes or more the second largest
// counts, so that a false wish of one member raises the result at most to the largest wish of the
// others. Of fewer the largest counts. Both ends of a slow link wait for it: two members wish what
// it needs.
#pragma once

#include <cstdint>

#include "gossip/members/roster.h"

namespace starling::gossip {

// Of members that train with this node's agreed values, self included; 0: none wishes anything.
std::uint64_t wished_steps(const Roster& members);

}  // namespace starling::gossip
