// Finds the member that holds up the others. In schedule `rounds` the neighbours of a slow node
// wait for it, and their neighbours for them. Each member's record names the neighbour that its
// rounds wait for (Member::held); the member at the end of that chain, which waits for none, is the
// cause. Where members wait for each other in a circle, the cause is the network or a shared
// machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gossip/status.h"
#include "gossip/wire/message.h"

namespace starling::gossip {

// The member that most members wait for, at the end of a chain; nothing: there is none.
std::optional<HoldUp> hold_up_among(const std::vector<const Member*>& present);
// "node-2 holds up the others: 84 % of the rounds' time", in the words of node `self`.
std::string text_of(const HoldUp& hold_up, NodeId self);

}  // namespace starling::gossip
