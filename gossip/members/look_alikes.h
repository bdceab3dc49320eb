// Look-alikes: members whose names differ in nothing but large and small letters, which people and
// some file systems take for one name.
#pragma once

#include <string>

#include "gossip/members/roster.h"

namespace starling::gossip {

// A warning that names the first two present look-alikes; empty: there are none.
std::string look_alikes(const Roster& members);

}  // namespace starling::gossip
