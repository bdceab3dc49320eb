// EdgeMemory: what a checkpoint says of the exchange: the edges, each with the claim by which its
// ends find out whether they remember the same, and the sums of learning rates, so that differences
// of them are the same numbers in the next life.
#pragma once

#include "gossip/checkpoint.h"
#include "gossip/edges/exchange.h"
#include "gossip/edges/links.h"

namespace starling::gossip {

class EdgeMemory {
 public:
  // REQUIRES that the trainer has got all pairs that the exchange has taken.
  static void write(const Exchange& exchange, const Links& links, Checkpoint& checkpoint);
  // The sums go on. Before anything is heard.
  static void restore(const Checkpoint& checkpoint, Exchange& exchange);

 private:
  static KeptEdge of(const Exchange& exchange, const Link& link);
};

}  // namespace starling::gossip
