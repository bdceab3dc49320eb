// Donor: gives this node's state to newcomers while the node goes on training. A request waits for
// the next boundary between two jobs, where the trainer makes a copy. All newcomers that ask
// meanwhile, and for a moment afterwards, get the same copy, so that many newcomers at once cost
// one copy.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "gossip/members/roster.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class Donor {
 public:
  // Sends member `by` the current copy, or the next one when it is made. A member that is not
  // joining gets nothing, and neither does one that asked within kAgainAfter, nor do more than
  // kWaitingLimit members in that time.
  void asked(Time now, NodeId by, const Roster& members, Outbox& out);
  // Returns whether newcomers wait for a copy that no job makes yet. If so, the caller must start
  // such a job.
  bool claim();
  // The trainer made a copy of the state after `round`: sends it to all that wait.
  void made(Time now, std::uint64_t round, Payload snapshot, const std::string& foundation,
            const Roster& members, Outbox& out);
  // Drops the copy when it is old.
  void tick(Time now);
  Time deadline() const { return snapshot_ ? made_at_ + kFresh : kNever; }

 private:
  static constexpr Duration kFresh = std::chrono::milliseconds(200);
  static constexpr std::size_t kWaitingLimit = 256;
  // A newcomer that got nothing asks again after a second at the earliest. Longer: it waits longer
  // if its copy was lost. Shorter: a peer can make this node send more copies.
  static constexpr Duration kAgainAfter = std::chrono::milliseconds(900);

  bool may_ask(Time now, NodeId by);
  void give(NodeId to, const Roster& members, Outbox& out) const;

  std::vector<NodeId> waiting_;
  std::map<NodeId, Time> asked_;  // when each last asked
  bool claimed_ = false;
  std::optional<Snapshot> snapshot_;
  Payload payload_;
  Time made_at_{};
};

}  // namespace starling::gossip
