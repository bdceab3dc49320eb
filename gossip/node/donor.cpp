#include "gossip/node/donor.h"

#include <algorithm>
#include <utility>

namespace starling::gossip {

void Donor::asked(Time now, NodeId by, const Roster& members, Outbox& out) {
  tick(now);
  if (!may_ask(now, by)) return;
  if (snapshot_) return give(by, members, out);
  if (waiting_.size() < kWaitingLimit && std::ranges::find(waiting_, by) == waiting_.end())
    waiting_.push_back(by);
}

bool Donor::claim() {
  return !waiting_.empty() && !std::exchange(claimed_, true);
}

void Donor::made(Time now, std::uint64_t round, Payload snapshot, const std::string& foundation,
                 const Roster& members, Outbox& out) {
  claimed_ = false;
  snapshot_ = Snapshot{round, foundation};
  payload_ = std::move(snapshot);
  made_at_ = now;
  for (NodeId to : std::exchange(waiting_, {})) give(to, members, out);
}

bool Donor::may_ask(Time now, NodeId by) {
  std::erase_if(asked_, [&](const auto& item) { return now - item.second >= kAgainAfter; });
  return asked_.size() < kWaitingLimit && asked_.try_emplace(by, now).second;
}

void Donor::tick(Time now) {
  if (!snapshot_ || now < made_at_ + kFresh) return;
  snapshot_.reset();
  payload_ = {};
}

void Donor::give(NodeId to, const Roster& members, Outbox& out) const {
  const Member* newcomer = members.find(to);
  if (newcomer && newcomer->phase == Phase::joining) out.send(to, *snapshot_, payload_);
}

}  // namespace starling::gossip
