// FanoutView (the active view of HyParView): the few members to which this node sends rumors. Each
// sending goes to some of them; sometimes one is replaced. Rumors spread as well as with random
// members of the whole cluster, and the node opens few connections while many members join.
#pragma once

#include <span>
#include <vector>

#include "base/ids.h"
#include "base/prng.h"

namespace starling::gossip {

class FanoutView {
 public:
  // `newcomer` is now one of `others` other members. Each is in the view with the same probability,
  // however late it came (reservoir sampling): a member in no node's view would receive no rumors.
  void meet(NodeId newcomer, std::size_t others, Prng& prng);
  // The members to send to now; empty if there are no others. `others`: the other members present.
  // `burden`: how many times as many members as usual depend on this node alone.
  std::vector<NodeId> choose(std::span<const NodeId> others, Prng& prng, std::size_t burden = 1);

 private:
  void widen(std::span<const NodeId> others, std::size_t size, Prng& prng);

  std::vector<NodeId> members_;  // the oldest first
};

}  // namespace starling::gossip
