// FanoutView (the active view of HyParView): the few members that this node tells its news. Some of
// them are told each time, and now and then one is replaced. News spread as well as with random
// members of the whole cluster, and the node opens few connections while many members join.
#pragma once

#include <span>
#include <vector>

#include "base/prng.h"
#include "gossip/wire/message.h"

namespace starling::gossip {

class FanoutView {
 public:
  // A member came and is one of `others` other members now. Each of them is in the view with the
  // same chance, however late it came (reservoir sampling): a member that is in no node's view
  // hears no news.
  void meet(NodeId newcomer, std::size_t others, Prng& prng);
  // The members to tell now; empty if there are no others. `others`: the other members present.
  std::vector<NodeId> choose(std::span<const Member* const> others, Prng& prng);

 private:
  void widen(std::span<const Member* const> others, Prng& prng);

  std::vector<NodeId> members_;  // the oldest first
};

}  // namespace starling::gossip
