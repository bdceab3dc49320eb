// What the members wish together. One member alone may wish falsely: of three wishes or more the
// second largest counts, so that a member can raise what all do to the largest wish of the others.
// With fewer the largest counts. A node that waits for a thin link and the node at its other end
// wait alike, so that two wish what that link needs.
#pragma once

#include "gossip/members/roster.h"
#include "gossip/wire/member.h"

namespace starling::gossip {

// Of the members that train with this node's values of the agreed keys, self included.
Wishes wished(const Roster& members);

}  // namespace starling::gossip
