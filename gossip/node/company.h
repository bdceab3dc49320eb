// Company: whether a relay has something to do. It does rounds as long as a member with data does
// any: alone or among relays, rounds would change no model, and their numbers would run away.
#pragma once

#include "gossip/members/roster.h"

namespace starling::gossip {

enum class Company {
  trains,  // a present member with data trains
  rests,   // none does
};
// Of the members besides this node.
Company company_among(const Roster& members);

}  // namespace starling::gossip
