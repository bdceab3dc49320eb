// Who holds up the others. In schedule `rounds` everybody waits for everybody: the neighbours of a
// slow node wait for it, their neighbours for them. Each member's record says for whom its rounds
// wait (Member::held), and the end of that chain, who waits for nobody, is the cause. Members
// that wait for each other in a circle have none: the network, or a machine that they share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gossip/status.h"
#include "gossip/wire/message.h"

namespace starling::gossip {

// Of several, the one that most members wait for.
std::optional<HoldUp> hold_up_among(const std::vector<const Member*>& present);
// "node-2 holds up the others: 84 % of the rounds' time", as node `self` says it.
std::string text_of(const HoldUp& hold_up, NodeId self);

}  // namespace starling::gossip
