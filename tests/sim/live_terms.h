// What follows from new values of live keys in simulated nodes, whose settings are structs.
#pragma once

#include "gossip/options.h"
#include "optim/options.h"

namespace starling::test {

// For nodes of these options.
gossip::Reconfigure reconfigure_from(const gossip::Options& node, const optim::Options& training);

}  // namespace starling::test
