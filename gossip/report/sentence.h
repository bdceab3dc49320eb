// The state of the fleet in one sentence for people, as any node sees it: "16 nodes train, loss
// 0.142 falling, models within 1.1 % of their mean, done in about 4 min". Problems come first: dead
// or silent nodes, then the reasons of this node.
#pragma once

#include <string>

#include "gossip/status.h"

namespace starling::gossip {

// `now` is that of the status.
std::string sentence(const Status& status, Time now);

}  // namespace starling::gossip
