// FanoutView (the active view of HyParView): the few members to whom a node tells its news. Some of
// them are told each time, and now and then one is replaced: news spread in it as well as among
// all, and it is not the whole cluster to which connections are opened while many join.
#pragma once

#include <span>
#include <vector>

#include "base/prng.h"
#include "gossip/wire/message.h"

namespace starling::gossip {

class FanoutView {
 public:
  // A member came and is one of `others` others now. Each of them is in the circle with the same
  // chance, however late it came (reservoir sampling): whoever is in no circle hears no news.
  void meet(NodeId newcomer, std::size_t others, Prng& prng);
  // Whom to tell now; empty where there are no others. `others` are present.
  std::vector<NodeId> choose(std::span<const Member* const> others, Prng& prng);

 private:
  void widen(std::span<const Member* const> others, Prng& prng);

  std::vector<NodeId> members_;  // longest first
};

}  // namespace starling::gossip
