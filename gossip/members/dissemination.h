// Dissemination: rumors that are still to be told, each a bounded number of times, the least told
// first. With lambda log2(n + 1) tellings to random members everybody hears of it with a
// probability that grows with n (Das, Gupta, Motivala: SWIM, 2002). A newer rumor of a member
// replaces an older one.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "gossip/wire/message.h"

namespace starling::gossip {

class Dissemination {
 public:
  // It is told from the start, even where an equal one has been told before.
  void add(Rumor rumor) { items_[rumor.member.id] = {std::move(rumor), 0}; }
  void forget(NodeId id) { items_.erase(id); }
  bool empty() const { return items_.empty(); }
  // At most `limit` rumors for one message among `members` members; they count as told.
  std::vector<Rumor> take(std::size_t limit, std::size_t members);

 private:
  struct Item {
    Rumor rumor;
    std::size_t told = 0;
  };
  std::map<NodeId, Item> items_;
};

}  // namespace starling::gossip
