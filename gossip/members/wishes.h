// The combined wishes of the members. Of three wishes or more the second largest counts, so that a
// false wish of one member raises the result at most to the largest wish of the others. Of fewer
// the largest counts. Both ends of a slow link wait for it: two members wish what it needs.
#pragma once

#include "gossip/members/roster.h"
#include "gossip/wire/member.h"

namespace starling::gossip {

// Combines the wishes of members that train with this node's agreed values, self included.
Wishes wished(const Roster& members);

}  // namespace starling::gossip
