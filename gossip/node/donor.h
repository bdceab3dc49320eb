// Donor: gives this node's state to newcomers while it goes on training. A request waits for the
// next boundary between two jobs, where the trainer makes a copy; all who ask meanwhile, and for a
// moment afterwards, get the same one, so that many who join at once cost one copy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "gossip/members/roster.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class Donor {
 public:
  // Answers from the copy there is, or later. A node that is not joining gets nothing.
  void asked(Time now, NodeId by, const Roster& members, Outbox& out);
  // Whether somebody waits for a copy that no job makes yet; from then on one does.
  bool claim();
  // The trainer made one of the state after `round`; nothing when it has no model.
  void made(Time now, std::uint64_t round, Payload snapshot, const std::string& foundation,
            const Roster& members, Outbox& out);
  // Lets go of a copy that is old.
  void tick(Time now);
  Time deadline() const { return snapshot_ ? made_at_ + kFresh : kNever; }

 private:
  static constexpr Duration kFresh = std::chrono::milliseconds(200);
  static constexpr std::size_t kWaitingLimit = 256;

  void give(NodeId to, const Roster& members, Outbox& out) const;

  std::vector<NodeId> waiting_;
  bool claimed_ = false;
  std::optional<Snapshot> snapshot_;
  Payload payload_;
  Time made_at_{};
};

}  // namespace starling::gossip
