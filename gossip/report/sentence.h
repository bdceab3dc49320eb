// The state of the fleet in one sentence for people, as any node sees it: "16 nodes train, loss
// 0.142 falling, models within 1.1 % of their mean, done in about 4 min". Reasons come first.
#pragma once

#include <string>

#include "gossip/status.h"

namespace starling::gossip {

std::string sentence(const Status& status);

}  // namespace starling::gossip
