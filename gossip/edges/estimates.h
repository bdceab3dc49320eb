// Estimates: how the estimates of FleetMeans reach the neighbours. They travel with every vector,
// and in a message of their own over an edge that carried no vector for a period: so a node that is
// paused, has finished or offers to one neighbour a round is known too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "base/time.h"
#include "gossip/edges/fleet_means.h"
#include "gossip/edges/links.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class Estimates {
 public:
  explicit Estimates(Duration period) : period_(period) {}

  FleetMeans& means() { return means_; }
  // Forgets the neighbours whose link is gone.
  void follow(const Links& links) {
    const auto stays = [&](NodeId peer) { return links.all().contains(peer); };
    std::erase_if(told_, [&](const auto& item) { return !stays(item.first); });
    means_.keep(stays);
  }
  // This node's vector of the round is offered: it is of the model that the means compare now.
  void begin_round(Time now, std::uint64_t round) {
    next_ = std::min(next_, now + period_);
    means_.begin_round(round);
    means_.update();
  }
  // Writes this node's estimates into the message that carries its vector.
  void write(Time now, NodeId to, Round& message) {
    if (!means_.has_value()) return;
    message.flow = means_.flow(to);
    message.estimate = means_.estimate();
    told_[to] = now;
  }
  // Tells the estimates. `round`: of this node's model; 0: the node rests.
  void tick(Time now, std::uint64_t round, const Links& links, Outbox& out) {
    if (now < next_) return;
    next_ = now + period_;
    if (!means_.has_value()) return;
    bool is_updated = false;
    for (const auto& [peer, link] : links.all()) {
      Time& told = told_[peer];
      if (!link.active || (told > Time{} && now < told + period_)) continue;
      if (!std::exchange(is_updated, true)) means_.update();
      out.send(link.control, Estimate{round, means_.flow(peer), means_.estimate()});
      told = now;
    }
  }
  // When to call tick() next.
  Time deadline() const { return next_; }

 private:
  const Duration period_;
  FleetMeans means_;
  std::map<NodeId, Time> told_;  // when an estimate was last sent to each neighbour
  Time next_ = kNever;
};

}  // namespace starling::gossip
