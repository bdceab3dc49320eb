// WaitingScheduler: the common part of schedules that offer to all neighbours and wait for some.
#pragma once

#include <vector>

#include "gossip/edges/scheduler.h"

namespace starling::gossip {

class WaitingScheduler : public Scheduler {
 public:
  // pull / (1 + max(degree, 1)): the shares of all neighbours add up to less than one.
  double share(const EdgeView& edge, std::size_t degree) const override;
  std::vector<NodeId> choose(EdgeViews edges) override;
  // Whether the round waits for no peer any more, or enough peers have sent their vectors.
  bool may_finish(Time now, const CurrentRound& current, EdgeViews edges) const override;
  Time deadline(const CurrentRound& current, EdgeViews edges) const override;

 protected:
  // `quorum`: the part of the neighbours that is enough; 1: all, 0: any one.
  WaitingScheduler(const Options& options, Rules rules, double quorum);

 private:
  bool has_quorum(const CurrentRound& current, EdgeViews edges) const;

  const double quorum_, pull_;
};

}  // namespace starling::gossip
