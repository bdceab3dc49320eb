// DataShare: the members among which the data were last dealt, for this node's trainer.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "gossip/io.h"

namespace starling::gossip {

class DataShare {
 public:
  explicit DataShare(NodeId self) : self_(self) {}

  // Deals the data among members in topology order. This node is one of them, unless it is a relay.
  std::shared_ptr<const optim::Shard> deal(std::vector<NodeId> members) {
    members_ = std::move(members);
    const auto place = std::ranges::find(members_, self_) - members_.begin();
    return std::make_shared<const optim::Shard>(
        optim::Shard{members_, static_cast<std::size_t>(place), has_held_out_});
  }
  // From the next time on rows that were held out are dealt too. Returns whether that is new.
  bool take_held_out() { return !std::exchange(has_held_out_, true); }
  bool is_among(const std::vector<NodeId>& members) const { return members == members_; }

 private:
  NodeId self_;
  std::vector<NodeId> members_;
  bool has_held_out_ = false;
};

}  // namespace starling::gossip
