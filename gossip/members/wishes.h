// What the members wish together. Of three wishes or more the second largest counts, so that a
// false wish of one member raises what all do to the largest wish of the others at most. Of fewer
// the largest counts. A node that waits for a thin link and the node at its other end wait alike:
// two wish what that link needs.
#pragma once

#include "gossip/members/roster.h"
#include "gossip/wire/member.h"

namespace starling::gossip {

// Of the members that train with this node's values of the agreed keys, self included.
Wishes wished(const Roster& members);

}  // namespace starling::gossip
