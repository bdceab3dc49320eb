// Inputs: dispatches inputs to the parts of a node.
#pragma once

#include "gossip/io.h"
#include "gossip/node/parts.h"

namespace starling::gossip {

// Passes the input to its part; may move from it.
void handle(NodeParts& node, Time now, Input& input);

}  // namespace starling::gossip
