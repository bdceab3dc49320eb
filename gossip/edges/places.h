// Places: the nodes of the topology as rounds see them: their turns, where the graph changes from
// round to round, and those that sum slices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gossip/edges/turns.h"
#include "gossip/outbox.h"
#include "topology/build.h"

namespace starling::gossip {

class Places {
 public:
  Places() = default;
  // `sites`: in the order of the topology; null: none yet. `turns`: null if every round uses all
  // edges.
  Places(const std::vector<topology::Site>* sites, std::shared_ptr<const Turns> turns)
      : turns_(std::move(turns)) {
    if (!sites) return;
    nodes_ = sites->size();
    for (const topology::Site& site : *sites)
      if (!site.is_hidden) hubs_.push_back(site.id);
  }

  const Turns* turns() const { return turns_.get(); }
  // The places of this node and of a peer among the nodes that sum slices in that round. These are
  // the nodes that can be dialled, because they are neighbours of all others.
  optim::Slot slot(std::uint64_t round, NodeId self, NodeId peer) const {
    const auto place = [this](NodeId node) {
      return static_cast<std::size_t>(std::ranges::find(hubs_, node) - hubs_.begin());
    };
    return {.round = round,
            .nodes = nodes_,
            .hubs = hubs_.size(),
            .own = place(self),
            .theirs = place(peer),
            .peer = peer};
  }

 private:
  std::shared_ptr<const Turns> turns_;
  std::size_t nodes_ = 0;     // number of nodes in the topology
  std::vector<NodeId> hubs_;  // the nodes of the topology that can be dialled
};

}  // namespace starling::gossip
