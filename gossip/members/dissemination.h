// Dissemination: the rumors that this node still tells, each a bounded number of times, the least
// told first. With lambda log2(n + 1) tellings to random members every member hears a rumor with a
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
  // Counts the tellings of the rumor from zero, even if an equal rumor was told before.
  void add(Rumor rumor) { items_[rumor.member.id] = {std::move(rumor), 0}; }
  void forget(NodeId id) { items_.erase(id); }
  bool empty() const { return items_.empty(); }
  // Returns at most `limit` rumors for one message and counts them as told. `members`: the size of
  // the cluster.
  std::vector<Rumor> take(std::size_t limit, std::size_t members);

 private:
  struct Item {
    Rumor rumor;
    std::size_t told = 0;
  };
  std::map<NodeId, Item> items_;
};

}  // namespace starling::gossip
