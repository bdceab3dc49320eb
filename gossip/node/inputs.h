// Inputs: which part of a node an input concerns.
#pragma once

#include "gossip/io.h"
#include "gossip/node/parts.h"

namespace starling::gossip {

// Passes the input to its part, and takes what it likes from it.
void handle(NodeParts& node, Time now, Input& input);

}  // namespace starling::gossip
